#include "tilewright/collective/messages/Messages.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstring>

namespace tilewright::collective::messages {

using namespace std::chrono_literals;

Messages::Messages(const Membership &membership, FailureBox &failure)
    : membership(membership), failure(failure), leftRuns(membership.processOfRank.size(), -1) {
  for (int64_t process : membership.processes())
    if (process != membership.process)
      others.push_back(process);
}

bool Messages::isFitting(Expected &expected, const Header &header) {
  if (header.site == expected.site && header.offset <= expected.bytes &&
      header.bytes <= expected.bytes - header.offset) {
    expected.at.store(std::max(expected.at.load(std::memory_order_relaxed), header.at),
                      std::memory_order_relaxed);
    return true;
  }
  if (expected.isDifferent.load(std::memory_order_relaxed))
    return false;
  expected.text.assign(header.text, strnlen(header.text, sizeof header.text));
  expected.isDifferent.store(true, std::memory_order_release);
  return false;
}

void Messages::count(const Incoming &incoming, size_t bytes) {
  if (incoming.expected)
    incoming.expected->received.fetch_add(bytes, std::memory_order_release);
}

void Messages::begin(Incoming &incoming, const Header &header) {
  incoming.header = header;
  incoming.expected = nullptr;
  incoming.parked.clear();
  if (header.type == Header::data) {
    auto found = expectations.find(header.key);
    if (found != expectations.end() && isFitting(*found->second, header))
      incoming.expected = found->second;
  }
  if (!incoming.expected)
    incoming.parked.resize(header.bytes);
}

void Messages::end(Incoming &incoming) {
  const Header &header = incoming.header;
  switch (header.type) {
  case Header::data:
    if (incoming.expected) {
      if (incoming.expected->bytes == 0)
        count(incoming, 1);
    } else if (auto found = expectations.find(header.key); found != expectations.end()) {
      // The message was not received into a posted buffer, but a receive for its key exists: it was
      // posted while the message arrived, or it does not match the message.
      if (matchReceive(incoming, *found->second, header.bytes) && header.bytes == 0)
        count(incoming, 1);
    } else {
      early[header.key].push_back({header, std::move(incoming.parked)});
    }
    break;
  case Header::aborted:
    failure.set(std::string(reinterpret_cast<const char *>(incoming.parked.data()), header.bytes));
    break;
  case Header::leftRun:
    if (header.key.from >= 0 && static_cast<size_t>(header.key.from) < leftRuns.size()) {
      int64_t &last = leftRuns[static_cast<size_t>(header.key.from)];
      last = std::max(last, static_cast<int64_t>(header.key.sequence));
    }
    break;
  case Header::goodbye:
    haveSaidGoodbye[header.process] = true;
    break;
  case Header::hello:
    break;
  case Header::status:
    statuses[header.key.from] =
        std::string(reinterpret_cast<const char *>(incoming.parked.data()), header.bytes);
    break;
  }
  incoming.expected = nullptr;
}

void Messages::deliver(const Header &header, std::span<const std::byte> bytes) {
  Incoming incoming;
  begin(incoming, header);
  if (!bytes.empty())
    std::memcpy(incoming.begin(), bytes.data(), bytes.size());
  count(incoming, bytes.size());
  end(incoming);
}

bool Messages::matchReceive(Incoming &incoming, Expected &expected, size_t have) {
  if (incoming.expected || incoming.header.type != Header::data ||
      incoming.header.key != expected.key || !isFitting(expected, incoming.header))
    return false;
  incoming.expected = &expected;
  if (have > 0)
    std::memcpy(incoming.begin(), incoming.parked.data(), have);
  count(incoming, have);
  incoming.parked.clear();
  return true;
}

void Messages::expect(Expected &expected) {
  std::lock_guard lock(mutex);
  expectations[expected.key] = &expected;
  auto found = early.find(expected.key);
  if (found != early.end()) {
    for (const Parked &parked : found->second)
      if (isFitting(expected, parked.header)) {
        if (!parked.bytes.empty())
          std::memcpy(expected.to + parked.header.offset, parked.bytes.data(), parked.bytes.size());
        expected.received.fetch_add(
            std::max<size_t>(parked.bytes.size(), expected.bytes == 0 ? 1 : 0),
            std::memory_order_release);
      }
    early.erase(found);
  }
  adopt(expected);
}

void Messages::forget(Expected &expected) {
  std::lock_guard lock(mutex);
  auto found = expectations.find(expected.key);
  if (found != expectations.end() && found->second == &expected)
    expectations.erase(found);
  abandon(expected);
}

void Messages::forget(Sent &sent) {
  std::lock_guard lock(mutex);
  withdraw(sent);
}

void Messages::send(const Key &key, uint64_t site, std::string_view text, uint64_t offset,
                    std::span<const std::byte> bytes, Sent &sent) {
  std::lock_guard lock(mutex);
  Header header;
  header.key = key;
  header.site = site;
  header.offset = offset;
  header.bytes = bytes.size();
  header.process = membership.process;
  std::memcpy(header.text, text.data(), std::min(text.size(), sizeof header.text - 1));
  const int64_t process = membership.processOfRank[static_cast<size_t>(key.to)];
  if (process != membership.process)
    return post(process, header, bytes, &sent);
  // The target is another rank of this process.
  deliver(header, bytes);
  sent.bytes.fetch_add(bytes.size(), std::memory_order_release);
  wake();
}

void Messages::tellAll(Header header, std::string_view text) {
  header.bytes = text.size();
  header.process = membership.process;
  for (int64_t process : others)
    post(process, header, std::as_bytes(std::span(text)), nullptr);
}

void Messages::sayGoodbye() {
  std::lock_guard lock(mutex);
  Header header;
  header.type = Header::goodbye;
  tellAll(header, "");
}

void Messages::lose(int64_t process, std::string_view where, std::string_view why) {
  if (!haveSaidGoodbye[process])
    failure.set(concat(membership.ranksText(process), " died: the connection to process ", process,
                       where.empty() ? "" : " at ", where, " has ended (", why, ")"));
}

void Messages::fail(std::string text) {
  failure.set(std::move(text));
  forwardFailure();
}

/// Forwards the first failure that this process knows, once. That failure may have come from a
/// peer: processes that later notice that this process has ended should learn the original reason.
void Messages::forwardFailure() {
  if (hasForwardedFailure.exchange(true))
    return;
  {
    std::lock_guard lock(mutex);
    Header header;
    header.type = Header::aborted;
    tellAll(header, failure.text());
  }
  flushFor(50ms);
  wake();
}

void Messages::leaveRun(int64_t rank, int64_t run) {
  if (failure.isSet())
    forwardFailure();
  {
    std::lock_guard lock(mutex);
    int64_t &last = leftRuns[static_cast<size_t>(rank)];
    last = std::max(last, run);
    Header header;
    header.type = Header::leftRun;
    header.key.from = static_cast<int32_t>(rank);
    header.key.sequence = static_cast<uint64_t>(run);
    tellAll(header, "");
  }
  flushFor(50ms); // a leaving rank may never call progress() again
  wake();
}

std::optional<std::string> Messages::departedMember(const OrderedChannel &channel,
                                                    const Operation *operation, int64_t run) {
  std::lock_guard lock(mutex);
  for (size_t i = 0; operation && i < channel.members.size(); ++i) {
    const auto other = static_cast<size_t>(channel.members[i]);
    if (i == channel.mine || !operation->isMissing(i))
      continue;
    auto goodbye = haveSaidGoodbye.find(membership.processOfRank[other]);
    if (goodbye != haveSaidGoodbye.end() && goodbye->second)
      return concat("rank ", other, ", which has left the job");
    if (leftRuns[other] >= run)
      return concat("rank ", other, ", which has left the run");
  }
  return std::nullopt;
}

void Messages::publishStatus(int64_t rank, std::string_view status) {
  std::lock_guard lock(mutex);
  Header header;
  header.type = Header::status;
  header.key.from = static_cast<int32_t>(rank);
  tellAll(header, status);
}

std::string Messages::peerStatus(int64_t rank) {
  std::lock_guard lock(mutex);
  auto found = statuses.find(rank);
  return found == statuses.end() ? "has not sent its data" : found->second;
}

Traffic Messages::traffic() {
  std::lock_guard lock(mutex);
  return sentBytes;
}

} // namespace tilewright::collective::messages
