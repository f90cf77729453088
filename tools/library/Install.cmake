# Installs the files of the build tree TILEWRIGHT_INSTALL_FROM that the wheel contains, in the same folders.
# The rules name paths and not targets, so that a wheel can also be made from a tree that is already built.
install(PROGRAMS ${TILEWRIGHT_INSTALL_FROM}/bin/tilewright DESTINATION bin COMPONENT wheel)
install(PROGRAMS ${TILEWRIGHT_INSTALL_FROM}/lib/libtilewright_pjrt.so DESTINATION lib COMPONENT wheel)
install(PROGRAMS ${TILEWRIGHT_INSTALL_FROM}/lib/vgpu/libcuda.so.1 DESTINATION lib/vgpu COMPONENT wheel)
install(PROGRAMS ${TILEWRIGHT_INSTALL_FROM}/lib/vgpu/libamdhip64.so.7 DESTINATION lib/vgpu COMPONENT wheel)
install(PROGRAMS ${TILEWRIGHT_INSTALL_FROM}/lib/vgpu/libnccl.so.2 DESTINATION lib/vgpu COMPONENT wheel)
install(PROGRAMS ${TILEWRIGHT_INSTALL_FROM}/lib/vgpu/librccl.so.1 DESTINATION lib/vgpu COMPONENT wheel)
install(PROGRAMS ${TILEWRIGHT_INSTALL_FROM}/lib/vgpu/libraries/libcublasLt.so.13 ${TILEWRIGHT_INSTALL_FROM}/lib/vgpu/libraries/libcudnn.so.9
  DESTINATION lib/vgpu/libraries COMPONENT wheel)
install(PROGRAMS ${TILEWRIGHT_INSTALL_FROM}/lib/vgpu/bin/ptxas DESTINATION lib/vgpu/bin COMPONENT wheel)
