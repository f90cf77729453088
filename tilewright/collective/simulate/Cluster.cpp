#include "tilewright/collective/simulate/Cluster.h"

#include <algorithm>

namespace tilewright::collective::simulate {

using messages::Header;

Cluster::Cluster(int64_t count, uint64_t seed, LinkOf linkOf) : linkOf(std::move(linkOf)) {
  for (int64_t process = 0; process < count; ++process)
    processes.emplace_back().chance.seed(seed * 1'000'003 + static_cast<uint64_t>(process));
}

std::chrono::nanoseconds Cluster::timeOf(int64_t rank) const {
  std::lock_guard lock(mutex);
  auto found = times.find(rank);
  return std::chrono::nanoseconds(found == times.end() ? 0 : found->second);
}

void Cluster::compute(int64_t rank, std::chrono::nanoseconds time) {
  std::lock_guard lock(mutex);
  times[rank] += time.count();
}

void Cluster::advance(int64_t rank, int64_t at) {
  std::lock_guard lock(mutex);
  int64_t &time = times[rank];
  time = std::max(time, at);
}

void Cluster::join(int64_t process) {
  std::lock_guard lock(mutex);
  processes[static_cast<size_t>(process)].isHere = true;
}

void Cluster::leave(int64_t process) {
  std::lock_guard lock(mutex);
  Process &gone = processes[static_cast<size_t>(process)];
  gone.isHere = false;
  gone.coming.clear();
}

void Cluster::kill(int64_t process) {
  std::lock_guard lock(mutex);
  processes[static_cast<size_t>(process)].isDead = true;
  for (size_t other = 0; other < processes.size(); ++other) {
    Process &survivor = processes[other];
    if (static_cast<int64_t>(other) == process || isCut(process, static_cast<int64_t>(other)))
      continue;
    Delivery end;
    end.from = process;
    end.isEnd = true;
    survivor.coming[process].push_back(std::move(end));
    survivor.changed.notify_all();
  }
}

void Cluster::cut(int64_t one, int64_t other) {
  std::lock_guard lock(mutex);
  cuts[{std::min(one, other), std::max(one, other)}] = true;
  processes[static_cast<size_t>(one)].coming.erase(other);
  processes[static_cast<size_t>(other)].coming.erase(one);
}

void Cluster::send(int64_t from, int64_t to, const Header &header,
                   std::span<const std::byte> bytes) {
  std::lock_guard lock(mutex);
  Process &sender = processes[static_cast<size_t>(from)];
  Process &receiver = processes[static_cast<size_t>(to)];
  if (sender.isDead || receiver.isDead || isCut(from, to))
    return;
  const Link link = linkOf(from, to);
  Delivery delivery;
  delivery.from = from;
  delivery.header = header;
  delivery.bytes.assign(bytes.begin(), bytes.end());
  // Only collective data takes simulated time, because the time at which other messages are sent
  // depends on the speed of this machine.
  if (header.type == Header::data) {
    const double length = static_cast<double>(sizeof(Header) + bytes.size()) / link.bytesPerSecond;
    sender.sentUntil =
        std::max(sender.sentUntil, times[header.key.from]) + static_cast<int64_t>(length * 1e9);
    delivery.header.at = sender.sentUntil + link.latency.count();
  }
  receiver.coming[from].push_back(std::move(delivery));
  receiver.changed.notify_all();
}

void Cluster::wait(int64_t process, std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex);
  Process &self = processes[static_cast<size_t>(process)];
  uint64_t &noticed = self.noticed[std::this_thread::get_id()];
  self.changed.wait_for(lock, longest,
                        [&] { return noticed != self.wakes || !self.coming.empty(); });
  noticed = self.wakes;
}

std::vector<Cluster::Delivery> Cluster::receive(int64_t process) {
  std::lock_guard lock(mutex);
  Process &self = processes[static_cast<size_t>(process)];
  // Deliver a few messages from random senders, in order per sender; all others stay in flight.
  std::vector<Delivery> brought;
  for (size_t count = self.chance() % 8; count > 0 && !self.coming.empty(); --count) {
    auto next = self.coming.begin();
    std::advance(next, self.chance() % self.coming.size());
    brought.push_back(std::move(next->second.front()));
    next->second.pop_front();
    if (next->second.empty())
      self.coming.erase(next);
  }
  return brought;
}

void Cluster::wake(int64_t process) {
  std::lock_guard lock(mutex);
  Process &self = processes[static_cast<size_t>(process)];
  ++self.wakes;
  self.changed.notify_all();
}

} // namespace tilewright::collective::simulate
