; What LLVM's NVPTX back end makes of ordinary IR; compiled by llc for sm_80 and sm_90a.
target triple = "nvptx64-nvidia-cuda"

@table = addrspace(1) constant [4 x float] [float 1.0, float -2.5, float 0.0, float 3.0]
@pointer = addrspace(1) global ptr addrspacecast (ptr addrspace(1) getelementptr ([4 x float], ptr addrspace(1) @table, i64 0, i64 2) to ptr)
@tile = internal addrspace(3) global [256 x float] undef, align 16
@dynamic = external addrspace(3) global [0 x i8], align 128

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier0()
declare float @llvm.fma.f32(float, float, float)
declare <2 x half> @llvm.fma.v2f16(<2 x half>, <2 x half>, <2 x half>)
declare i32 @llvm.ctpop.i32(i32)
declare i64 @llvm.bitreverse.i64(i64)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare { i32, i1 } @llvm.uadd.with.overflow.i32(i32, i32)
declare float @llvm.sqrt.f32(float)
declare float @llvm.maximum.f32(float, float)

define internal { i32, double } @split(i32 %a, [3 x i64] %b) noinline {
  %x = extractvalue [3 x i64] %b, 1
  %d = sitofp i64 %x to double
  %r0 = insertvalue { i32, double } undef, i32 %a, 0
  %r1 = insertvalue { i32, double } %r0, double %d, 1
  ret { i32, double } %r1
}

define ptx_kernel void @arithmetic(ptr addrspace(1) align 16 %in, ptr addrspace(1) %out, i32 %n, i8 %small, <4 x float> %v) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %block, 128
  %i = add i32 %base, %tid
  %c = icmp ult i32 %i, %n
  br i1 %c, label %body, label %done
body:
  %p = getelementptr <4 x float>, ptr addrspace(1) %in, i32 %i
  %x = load <4 x float>, ptr addrspace(1) %p, align 16
  %s = fadd <4 x float> %x, %v
  %e = extractelement <4 x float> %s, i32 2
  %q = call float @llvm.fma.f32(float %e, float %e, float 1.5)
  %root = call float @llvm.sqrt.f32(float %q)
  %m = call float @llvm.maximum.f32(float %root, float %e)
  %div = fdiv float %m, %e
  %o = getelementptr float, ptr addrspace(1) %out, i32 %i
  store float %div, ptr addrspace(1) %o
  %w = sext i8 %small to i64
  %rev = call i64 @llvm.bitreverse.i64(i64 %w)
  %pair = call { i32, double } @split(i32 %i, [3 x i64] [i64 1, i64 2, i64 3])
  %pd = extractvalue { i32, double } %pair, 1
  %t = fptosi double %pd to i64
  %sum = add i64 %rev, %t
  %shared = getelementptr [256 x float], ptr addrspace(3) @tile, i32 0, i32 %tid
  store float %div, ptr addrspace(3) %shared
  call void @llvm.nvvm.barrier0()
  %old = atomicrmw add ptr addrspace(1) %out, i32 %n syncscope("device") acq_rel
  %both = cmpxchg ptr addrspace(1) %out, i32 %n, i32 %old seq_cst monotonic
  %success = extractvalue { i32, i1 } %both, 1
  %sel = select i1 %success, i64 %sum, i64 7
  store volatile i64 %sel, ptr addrspace(3) @dynamic
  fence syncscope("block") acquire
  br label %done
done:
  ret void
}

define ptx_kernel void @control(ptr addrspace(1) %data, i32 %which, ptr %function) "nvvm.maxntid"="256" "nvvm.minctasm"="2" {
  switch i32 %which, label %other [ i32 0, label %a
    i32 1, label %b
    i32 2, label %c
    i32 3, label %d
    i32 4, label %a ]
a:
  %pc = call i32 @llvm.ctpop.i32(i32 %which)
  br label %join
b:
  %f = call i32 @llvm.fshl.i32(i32 %which, i32 7, i32 %which)
  br label %join
c:
  %u = call { i32, i1 } @llvm.uadd.with.overflow.i32(i32 %which, i32 -5)
  %u0 = extractvalue { i32, i1 } %u, 0
  br label %join
d:
  %indirect = call i32 %function(i32 %which, ptr addrspace(1) %data)
  br label %join
other:
  br label %join
join:
  %r = phi i32 [ %pc, %a ], [ %f, %b ], [ %u0, %c ], [ %indirect, %d ], [ 9, %other ]
  store i32 %r, ptr addrspace(1) %data
  %local = alloca [8 x i32]
  %slot = getelementptr [8 x i32], ptr %local, i32 0, i32 %r
  store i32 %which, ptr %slot
  %back = load i32, ptr %local
  %wide = mul i32 %back, %r
  %h = load <2 x half>, ptr addrspace(1) %data
  %hf = call <2 x half> @llvm.fma.v2f16(<2 x half> %h, <2 x half> %h, <2 x half> %h)
  store <2 x half> %hf, ptr addrspace(1) %data
  %bf = load bfloat, ptr addrspace(1) %data
  %bx = fpext bfloat %bf to float
  %by = fadd float %bx, 1.0
  %bz = fptrunc float %by to bfloat
  store bfloat %bz, ptr addrspace(1) %data
  ret void
}
