#include "tilewright/target/gpu/thread/SharedMemory.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/lanes/Lanes.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace tilewright::gpu {

SharedMemory::Buffer SharedMemory::allocate(int64_t bytes, int64_t alignment,
                                            mlir::Operation *user) {
  Buffer buffer{0, bytes, {}};
  raw_string_ostream(buffer.user) << "'" << user->getName() << "' at " << user->getLoc();
  auto before = live.begin();
  for (; before != live.end(); ++before) {
    if (buffer.offset + bytes <= before->offset)
      break;
    buffer.offset = int64_t(alignTo(before->offset + before->bytes, alignment));
  }
  live.insert(before, buffer);
  const int64_t end = live.back().offset + live.back().bytes;
  if (end > peak) {
    peak = end;
    atPeak = live;
  }
  return buffer;
}

void SharedMemory::release(const Buffer &buffer) {
  llvm::erase_if(live, [&](const Buffer &other) { return other.offset == buffer.offset; });
}

Value SharedMemory::address(const Buffer &buffer, int64_t offset) {
  constexpr const char *name = "tilewright_shared";
  auto all = b.module.lookupSymbol<mlir::LLVM::GlobalOp>(name);
  if (!all) {
    // The launch sets the size, because static shared memory is limited to 48 KiB.
    mlir::OpBuilder::InsertionGuard guard(b.op);
    b.op.setInsertionPointToStart(b.module.getBody());
    all = mlir::LLVM::GlobalOp::create(b.op, b.op.getUnknownLoc(),
                                       mlir::LLVM::LLVMArrayType::get(b.i8Type, 0),
                                       /*isConstant=*/false, mlir::LLVM::Linkage::External, name,
                                       /*value=*/nullptr, /*alignment=*/1024, /*addrSpace=*/3);
  }
  Value base = mlir::LLVM::AddressOfOp::create(b.op, b.op.getUnknownLoc(), all);
  return b.advance(base, buffer.offset + offset, /*isInBounds=*/true);
}

Status SharedMemory::check() const {
  const Machine::Limits &limits = b.machine.limits;
  if (peak <= limits.sharedBytes)
    return {};
  std::vector<Buffer> largest = atPeak;
  llvm::sort(largest, [](const Buffer &a, const Buffer &c) { return a.bytes > c.bytes; });
  std::string users;
  for (size_t i = 0; i < largest.size() && i < 3; ++i)
    users += concat(i ? ", " : "", largest[i].user, " has ", largest[i].bytes);
  return Status(Error::gpuShared,
                concat("needs ", peak, " bytes of shared memory, but a CTA of ", limits.chip,
                       " has at most ", limits.sharedBytes, ": ", users, "; use smaller tiles"));
}

int64_t byteOf(sm::BufferType buffer, ArrayRef<int64_t> index) {
  return buffer.getLayout().getValue().apply(index)[sm::Axis::offset] *
         lanes::storageBytes(buffer.getElementType());
}

} // namespace tilewright::gpu
