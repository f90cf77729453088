#include "tilewright/collective/nccl/NcclCommunicator.h"
#include "tilewright/collective/Clique.h"
#include "tilewright/collective/Move.h"
#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::collective::nccl {

NcclCommunicator::NcclCommunicator(std::shared_ptr<Job> job, Job::LocalSeats seats, int64_t size)
    : job(std::move(job)), own(std::move(seats)), ranks(size) {
  for (const Seat &seat : own.seats)
    if (seat.comm && std::find(comms.begin(), comms.end(), seat.comm) == comms.end())
      comms.push_back(seat.comm);
}

NcclCommunicator::~NcclCommunicator() {
  for (std::byte *data : std::vector(registered))
    (void)deregisterMemory(data);
}

Status NcclCommunicator::nccl(std::string_view function, Comm &comm, const LocalRank::Body &body) {
  return own.local->call(function, comm, body, after(job->options.timeout));
}

Status NcclCommunicator::failWith(Status status) {
  if (status.isOk())
    return status;
  job->fail(concat("rank ", own.local->rank(), ": ", status.message()));
  // NCCL queues work from its own thread: the caller may free memory only when that thread can no
  // longer do so.
  own.local->awaitRest(comms, after(std::chrono::seconds(5)));
  return status;
}

Status NcclCommunicator::beginGroup() { return own.local->beginGroup(); }

Status NcclCommunicator::endGroup() {
  return failWith(own.local->endGroup(after(job->options.timeout)));
}

Status NcclCommunicator::inGroup(const std::function<Status()> &body) {
  TILEWRIGHT_TRY(own.local->beginGroup());
  Status status = body();
  Status end = own.local->endGroup(after(job->options.timeout));
  TILEWRIGHT_TRY(std::move(status));
  return end;
}

Status NcclCommunicator::check() {
  Status status = own.local->asyncError(comms);
  if (!status.isOk() && !job->failure.isSet())
    job->fail(concat("rank ", own.local->rank(), ": ", status.message()));
  return status;
}

/// The number of elements before dimension `dimension`: 1 if it is the outermost one.
static int64_t rowsBefore(const Tensor &tensor, int64_t dimension) {
  int64_t rows = 1;
  for (int64_t i = 0; i < dimension; ++i)
    rows *= tensor.inDims[static_cast<size_t>(i)];
  return rows;
}

/// deviceForm (E6062) if NCCL cannot express the call for a group of more than one rank.
static Status checkForm(const Call &call, const Library &nccl) {
  auto refuse = [&](std::string why) {
    return Status(Error::deviceForm,
                  concat(describe(call), " is not in a form that NCCL knows: ", why,
                         "; compile the program for GPUs, where communicate-device-forms rewrites "
                         "it"));
  };
  const bool reduces = call.kind == Kind::allReduce || call.kind == Kind::reduceScatter;
  if (call.kind == Kind::barrier)
    return refuse("a barrier has no operand");
  if (reduces && call.reduction.isBody())
    return refuse("its reduction is a function");
  for (const Tensor &tensor : call.tensors) {
    if (inBytes(tensor) == 0)
      continue;
    if (reduces &&
        (!nccl.typeOf(tensor.element) || !operationOf(call.reduction.operation, tensor.element)))
      return refuse(concat("it reduces ", numerics::spelling(tensor.element), " by ",
                           nameOf(call.reduction.operation)));
    const bool isAlongOne = call.kind == Kind::allGather || call.kind == Kind::reduceScatter ||
                            call.kind == Kind::allToAll;
    if (isAlongOne && rowsBefore(tensor, call.dimension) != 1)
      return refuse(concat("dimension ", call.dimension, " of ", listed(tensor.inDims),
                           " is not the outermost one"));
    if (call.kind == Kind::allToAll && call.dimension != call.splitDimension)
      return refuse(concat("it splits dimension ", call.splitDimension, " and joins dimension ",
                           call.dimension));
  }
  return Status();
}

Status NcclCommunicator::enqueue(const Call &call, size_t clique, DeviceStream stream) {
  if (clique >= own.seats.size())
    return Status(Error::collectiveGroups,
                  concat(describe(call), " uses clique ", clique, " of a program that has ",
                         own.seats.size(), " cliques"));
  if (job->failure.isSet())
    return own.local->failed();
  const Seat &seat = own.seats[clique];
  if (seat.isPairs != (call.kind == Kind::permute))
    return Status(Error::collectiveGroups,
                  concat(describe(call), " uses clique ", clique, ", which has ",
                         seat.isPairs ? "pairs" : "groups"));
  if (seat.group.empty() && call.kind != Kind::broadcast)
    return Status(Error::collectiveGroups,
                  concat(describe(call), " has no group that contains rank ", own.rank));
  const int64_t members = std::max<int64_t>(static_cast<int64_t>(seat.group.size()), 1);
  if (call.kind != Kind::raggedAllToAll)
    TILEWRIGHT_TRY(checkCall(call, members));
  if (seat.comm)
    TILEWRIGHT_TRY(checkForm(call, job->nccl));
  return failWith(queue(call, seat, stream));
}

Status NcclCommunicator::queue(const Call &call, const Seat &seat, DeviceStream stream) {
  if (call.kind == Kind::barrier)
    return Status(); // of one rank
  if (call.kind == Kind::permute)
    return permute(call, seat, stream);
  if (call.kind == Kind::raggedAllToAll)
    return ragged(call, seat, stream);
  if (seat.group.empty()) {
    for (const Tensor &tensor : call.tensors)
      if (outBytes(tensor) > 0)
        TILEWRIGHT_TRY(job->access.fillWithZeros(stream, tensor.out, outBytes(tensor)));
    return Status();
  }
  if (!seat.comm) {
    for (const Tensor &tensor : call.tensors)
      TILEWRIGHT_TRY(copy(tensor, stream));
    return Status();
  }
  if (call.tensors.size() == 1)
    return queueTensor(call, call.tensors[0], seat, stream);
  return inGroup([&]() -> Status {
    for (const Tensor &tensor : call.tensors)
      TILEWRIGHT_TRY(queueTensor(call, tensor, seat, stream));
    return Status();
  });
}

Status NcclCommunicator::queueTensor(const Call &call, const Tensor &tensor, const Seat &seat,
                                     DeviceStream stream) {
  const size_t in = inBytes(tensor), out = outBytes(tensor);
  if (in == 0 || out == 0)
    return Status(); // on all ranks alike, because they have the same shapes
  const Library &library = job->nccl;
  const size_t width = numerics::storageBytes(tensor.element);
  switch (call.kind) {
  case Kind::allReduce:
    return nccl("AllReduce", *seat.comm, [&](abi::ncclComm_t comm) {
      return library.AllReduce(tensor.in, tensor.out, in / width, *library.typeOf(tensor.element),
                               *operationOf(call.reduction.operation, tensor.element), comm,
                               stream);
    });
  case Kind::reduceScatter:
    return nccl("ReduceScatter", *seat.comm, [&](abi::ncclComm_t comm) {
      return library.ReduceScatter(
          tensor.in, tensor.out, out / width, *library.typeOf(tensor.element),
          *operationOf(call.reduction.operation, tensor.element), comm, stream);
    });
  case Kind::allGather:
    return nccl("AllGather", *seat.comm, [&](abi::ncclComm_t comm) {
      return library.AllGather(tensor.in, tensor.out, in, abi::ncclInt8, comm, stream);
    });
  case Kind::broadcast:
    return nccl("Broadcast", *seat.comm, [&](abi::ncclComm_t comm) {
      return library.Broadcast(tensor.in, tensor.out, in, abi::ncclInt8, 0, comm, stream);
    });
  default:
    return allToAll(tensor, seat, stream);
  }
}

Status NcclCommunicator::copy(const Tensor &tensor, DeviceStream stream) {
  if (tensor.in == tensor.out || inBytes(tensor) == 0)
    return Status();
  return job->access.copy(stream, tensor.out, tensor.in, inBytes(tensor));
}

Status NcclCommunicator::send(const std::byte *from, size_t bytes, int64_t to, Comm &comm,
                              DeviceStream stream) {
  return nccl("Send", comm, [&](abi::ncclComm_t handle) {
    return job->nccl.Send(from, bytes, abi::ncclInt8, static_cast<int>(to), handle, stream);
  });
}

Status NcclCommunicator::receive(std::byte *to, size_t bytes, int64_t from, Comm &comm,
                                 DeviceStream stream) {
  return nccl("Recv", comm, [&](abi::ncclComm_t handle) {
    return job->nccl.Recv(to, bytes, abi::ncclInt8, static_cast<int>(from), handle, stream);
  });
}

Status NcclCommunicator::permute(const Call &call, const Seat &seat, DeviceStream stream) {
  std::optional<int64_t> source, target;
  for (const std::vector<int64_t> &pair : seat.pairs) {
    if (pair[0] == own.rank)
      target = pair[1];
    if (pair[1] == own.rank)
      source = pair[0];
  }
  for (const Tensor &tensor : call.tensors) {
    if (source == own.rank)
      TILEWRIGHT_TRY(copy(tensor, stream));
    else if (!source && outBytes(tensor) > 0)
      TILEWRIGHT_TRY(job->access.fillWithZeros(stream, tensor.out, outBytes(tensor)));
  }
  if (source == own.rank) // then it is also its own target
    return Status();
  if (!source && !target)
    return Status();
  return inGroup([&]() -> Status {
    for (const Tensor &tensor : call.tensors) {
      if (inBytes(tensor) == 0)
        continue;
      if (target)
        TILEWRIGHT_TRY(send(tensor.in, inBytes(tensor), *target, *seat.comm, stream));
      if (source)
        TILEWRIGHT_TRY(receive(tensor.out, outBytes(tensor), *source, *seat.comm, stream));
    }
    return Status();
  });
}

Status NcclCommunicator::allToAll(const Tensor &tensor, const Seat &seat, DeviceStream stream) {
  const size_t members = seat.group.size(), part = inBytes(tensor) / members;
  if (job->nccl.AlltoAll)
    return nccl("AlltoAll", *seat.comm, [&](abi::ncclComm_t comm) {
      return job->nccl.AlltoAll(tensor.in, tensor.out, part, abi::ncclInt8, comm, stream);
    });
  return inGroup([&]() -> Status {
    for (size_t member = 0; member < members; ++member) {
      const int64_t peer = static_cast<int64_t>(member);
      TILEWRIGHT_TRY(send(tensor.in + member * part, part, peer, *seat.comm, stream));
      TILEWRIGHT_TRY(receive(tensor.out + member * part, part, peer, *seat.comm, stream));
    }
    return Status();
  });
}

Status NcclCommunicator::ragged(const Call &call, const Seat &seat, DeviceStream stream) {
  const int64_t members = static_cast<int64_t>(seat.group.size());
  const int64_t entries = static_cast<int64_t>(call.ragged.size()) / 4;
  TILEWRIGHT_TRY(checkReceivedLists(call, members, own.rank));
  const Tensor &tensor = call.tensors[0];
  auto rowBytes = [](const std::vector<int64_t> &dims, size_t bytes) {
    return dims.empty() || dims[0] == 0 ? size_t(0) : bytes / static_cast<size_t>(dims[0]);
  };
  const size_t row = std::max(rowBytes(tensor.inDims, inBytes(tensor)),
                              rowBytes(tensor.outDims, outBytes(tensor)));
  auto list = [&](int64_t which, int64_t entry) {
    return call.ragged[static_cast<size_t>(which * entries + entry)];
  };
  if (!seat.comm) {
    for (int64_t entry = 0; entry < entries; ++entry)
      if (list(1, entry) > 0)
        TILEWRIGHT_TRY(job->access.copy(stream,
                                        tensor.out + static_cast<size_t>(list(2, entry)) * row,
                                        tensor.in + static_cast<size_t>(list(0, entry)) * row,
                                        static_cast<size_t>(list(1, entry)) * row));
    return Status();
  }
  return inGroup([&]() -> Status {
    for (int64_t entry = 0; entry < entries; ++entry) {
      const int64_t peer = entry / (entries / members);
      const size_t sent = static_cast<size_t>(list(1, entry)) * row;
      const size_t received = static_cast<size_t>(list(3, entry)) * row;
      if (sent > 0)
        TILEWRIGHT_TRY(send(tensor.in + static_cast<size_t>(list(0, entry)) * row, sent, peer,
                            *seat.comm, stream));
      if (received > 0)
        TILEWRIGHT_TRY(receive(tensor.out + static_cast<size_t>(list(2, entry)) * row, received,
                               peer, *seat.comm, stream));
    }
    return Status();
  });
}

Status NcclCommunicator::registerMemory(std::byte *data, size_t bytes) {
  for (Comm *comm : comms)
    TILEWRIGHT_TRY(own.local->registerWith(*comm, data, bytes, after(job->options.timeout)));
  registered.push_back(data);
  return Status();
}

Status NcclCommunicator::deregisterMemory(std::byte *data) {
  const auto found = std::find(registered.begin(), registered.end(), data);
  if (found == registered.end())
    return Status(Code::invalidArgument, "deregisterMemory() of memory that is not registered");
  registered.erase(found);
  for (Comm *comm : comms)
    TILEWRIGHT_TRY(own.local->deregisterFrom(*comm, data, after(job->options.timeout)));
  return Status();
}

Result<void *> NcclCommunicator::registerWindow(size_t clique, std::byte *data, size_t bytes,
                                                Deadline deadline) {
  if (clique >= own.seats.size())
    return Status(Error::collectiveGroups,
                  concat("a window uses clique ", clique, " of a program that has ",
                         own.seats.size(), " cliques"));
  Comm *const comm = own.seats[clique].comm;
  if (!comm || !job->nccl.CommWindowRegister)
    return static_cast<void *>(nullptr);
  return own.local->makeWindow(*comm, data, bytes, deadline);
}

} // namespace tilewright::collective::nccl
