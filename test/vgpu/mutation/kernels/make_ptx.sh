#!/bin/sh
# Makes the PTX of the kernels here anew. Needs nvcc 13.0.
set -e
cd "$(dirname "$0")"
for name in threads copies clusters tensors; do
  nvcc -arch=sm_90a -ptx -lineinfo $name.cu -o $name.ptx
  # Strip the folders of the sources, which differ between machines.
  sed -i -E 's#\.file\s+([0-9]+) ".*/([^/"]+)"#.file\t\1 "\2"#' $name.ptx
done
