#include "tilewright/collective/tcp/Mesh.h"
#include "tilewright/support/Concat.h"

#include <cerrno>
#include <cstring>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace tilewright::collective::tcp {

using namespace std::chrono_literals;

/// With few others it costs less to try each than to ask which.
static constexpr size_t fewLinks = 4;

Mesh::~Mesh() {
  const bool hasFailed = failure.isSet();
  if (!hasFailed)
    tellAll(Header::goodbye, 0, "");
  // After a failure somebody may be unreachable, and the others want to go on without it.
  const auto longest = hasFailed ? 20ms : 200ms;
  flushFor(longest);
  std::lock_guard lock(mutex);
  // A connection that is closed with bytes unread takes back what it has not sent.
  for (auto &link : links)
    if (link->socket >= 0)
      shutdown(link->socket, SHUT_WR);
  const Deadline deadline = after(longest);
  for (auto &link : links) {
    if (link->socket < 0)
      continue;
    std::byte rest[4096];
    while (true) {
      while (recv(link->socket, rest, sizeof rest, MSG_DONTWAIT) > 0) {
      }
      int unsent = 0;
      if (link->isGone || ioctl(link->socket, SIOCOUTQNSD, &unsent) != 0 || unsent == 0 ||
          std::chrono::steady_clock::now() >= deadline)
        break;
      std::this_thread::sleep_for(20us);
    }
    close(link->socket);
  }
  if (bell >= 0)
    close(bell);
  if (poller >= 0)
    close(poller);
}

void Mesh::watch(Link &link) {
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLRDHUP | (link.isFull ? EPOLLOUT : 0U);
  event.data.ptr = &link;
  if (epoll_ctl(poller, EPOLL_CTL_MOD, link.socket, &event) != 0)
    epoll_ctl(poller, EPOLL_CTL_ADD, link.socket, &event);
}

void Mesh::lose(Link &link, std::string_view why) {
  if (link.isGone)
    return;
  link.isGone = true;
  epoll_ctl(poller, EPOLL_CTL_DEL, link.socket, nullptr);
  shutdown(link.socket, SHUT_WR); // so that the other need not wait for us
  if (!link.hasSaidGoodbye)
    failure.set(concat(membership.ranksText(link.process), " died: the connection to process ",
                       link.process, " at ", link.address, " has ended (", why, ")"));
}

/// The other end takes nothing more. What it sent before that may say why, and is still there.
void Mesh::loseWriting(Link &link, std::string_view why) {
  const std::string reason(why);
  link.queue.clear();
  while (!link.isGone && drain(link)) {
  }
  lose(link, reason);
}

bool Mesh::isFitting(Expected &expected, const Header &header) {
  if (header.site == expected.site && header.offset <= expected.bytes &&
      header.bytes <= expected.bytes - header.offset)
    return true;
  expected.text.assign(header.text, strnlen(header.text, sizeof header.text));
  expected.isDifferent.store(true, std::memory_order_release);
  return false;
}

void Mesh::count(Expected &expected, size_t bytes) {
  expected.received.fetch_add(bytes, std::memory_order_release);
}

void Mesh::expect(Expected &expected) {
  std::lock_guard lock(mutex);
  expectations[expected.key] = &expected;
  auto found = early.find(expected.key);
  if (found != early.end()) {
    for (const Parked &parked : found->second)
      if (isFitting(expected, parked.header)) {
        if (!parked.bytes.empty())
          std::memcpy(expected.to + parked.header.offset, parked.bytes.data(), parked.bytes.size());
        count(expected, std::max<size_t>(parked.bytes.size(), expected.bytes == 0 ? 1 : 0));
      }
    early.erase(found);
  }
  // One that is being read right now finds its place.
  for (auto &link : links)
    if (link->isInside && !link->expected && link->header.type == Header::data &&
        link->header.key == expected.key && isFitting(expected, link->header)) {
      const size_t have = link->parked.size() - link->left;
      if (have > 0)
        std::memcpy(expected.to + link->header.offset, link->parked.data(), have);
      link->to = expected.to + link->header.offset + have;
      link->expected = &expected;
      count(expected, have);
      link->parked.clear();
    }
}

void Mesh::forget(Expected &expected) {
  std::lock_guard lock(mutex);
  auto found = expectations.find(expected.key);
  if (found != expectations.end() && found->second == &expected)
    expectations.erase(found);
  for (auto &link : links)
    if (link->expected == &expected) { // only after a failure: the rest goes nowhere
      link->expected = nullptr;
      link->parked.assign(link->header.bytes, std::byte());
      link->to = link->parked.data() + (link->header.bytes - link->left);
    }
}

void Mesh::forget(Sent &sent) {
  std::lock_guard lock(mutex);
  for (auto &link : links)
    for (auto it = link->queue.begin(); it != link->queue.end();) {
      Outgoing &message = *it;
      if (message.sent != &sent) {
        ++it;
        continue;
      }
      if (message.done == 0) {
        it = link->queue.erase(it);
        continue;
      }
      // Half of it is on its way, so the rest must follow: from a copy.
      message.owned.assign(message.data, message.data + message.header.bytes);
      message.data = message.owned.data();
      message.sent = nullptr;
      ++it;
    }
}

void Mesh::send(const Key &key, uint64_t site, std::string_view text, uint64_t offset,
                std::span<const std::byte> bytes, Sent &sent) {
  std::lock_guard lock(mutex);
  Header header;
  header.key = key;
  header.site = site;
  header.offset = offset;
  header.bytes = bytes.size();
  std::memcpy(header.text, text.data(), std::min(text.size(), sizeof header.text - 1));
  const int64_t process = membership.processOfRank[static_cast<size_t>(key.to)];
  if (process == membership.process) { // another rank of this process
    auto found = expectations.find(key);
    if (found == expectations.end())
      early[key].push_back({header, {bytes.begin(), bytes.end()}});
    else if (isFitting(*found->second, header)) {
      if (!bytes.empty())
        std::memcpy(found->second->to + offset, bytes.data(), bytes.size());
      count(*found->second, std::max<size_t>(bytes.size(), found->second->bytes == 0 ? 1 : 0));
    }
    sent.bytes.fetch_add(bytes.size(), std::memory_order_release);
    wake();
    return;
  }
  Link &link = *linkOf.at(process);
  link.queue.push_back({header, bytes.data(), {}, 0, bytes.empty() ? nullptr : &sent});
  flush(link);
}

void Mesh::flush(Link &link) {
  while (!link.queue.empty() && !link.isGone) {
    // Several messages go in one call.
    iovec pieces[16];
    int count = 0;
    for (Outgoing &message : link.queue) {
      if (count + 2 > 16)
        break;
      const size_t inHeader = std::min(message.done, sizeof(Header));
      if (inHeader < sizeof(Header))
        pieces[count++] = {reinterpret_cast<std::byte *>(&message.header) + inHeader,
                           sizeof(Header) - inHeader};
      const size_t inData = message.done - inHeader;
      if (inData < message.header.bytes)
        pieces[count++] = {const_cast<std::byte *>(message.data) + inData,
                           message.header.bytes - inData};
    }
    msghdr all = {};
    all.msg_iov = pieces;
    all.msg_iovlen = static_cast<size_t>(count);
    ssize_t written = sendmsg(link.socket, &all, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0) {
      if (errno == EINTR)
        continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK)
        return loseWriting(link, std::strerror(errno));
      if (!link.isFull) {
        link.isFull = true;
        watch(link);
      }
      return;
    }
    auto left = static_cast<size_t>(written);
    while (left > 0) {
      Outgoing &message = link.queue.front();
      const size_t whole = sizeof(Header) + message.header.bytes;
      const size_t now = std::min(left, whole - message.done);
      const size_t before = message.done > sizeof(Header) ? message.done - sizeof(Header) : 0;
      message.done += now;
      const size_t after = message.done > sizeof(Header) ? message.done - sizeof(Header) : 0;
      sentBytes.payload += after - before;
      sentBytes.headers += now - (after - before);
      if (message.sent)
        message.sent->bytes.fetch_add(after - before, std::memory_order_release);
      left -= now;
      if (message.done == whole)
        link.queue.pop_front();
    }
  }
  if (link.isFull && !link.isGone) {
    link.isFull = false;
    watch(link);
  }
}

void Mesh::beginMessage(Link &link) {
  link.isInside = true;
  link.left = link.header.bytes;
  link.expected = nullptr;
  link.parked.clear();
  if (link.header.type == Header::data) {
    auto found = expectations.find(link.header.key);
    if (found != expectations.end() && isFitting(*found->second, link.header)) {
      link.expected = found->second;
      link.to = link.expected->to + link.header.offset;
    }
  }
  if (!link.expected) {
    link.parked.resize(link.header.bytes);
    link.to = link.parked.data();
  }
}

void Mesh::endMessage(Link &link) {
  link.isInside = false;
  const Header &header = link.header;
  switch (header.type) {
  case Header::data:
    if (!link.expected) {
      auto found = expectations.find(header.key); // it did not fit
      if (found == expectations.end())
        early[header.key].push_back({header, std::move(link.parked)});
    } else if (link.expected->bytes == 0) {
      count(*link.expected, 1);
    }
    break;
  case Header::aborted:
    failure.set(std::string(reinterpret_cast<const char *>(link.parked.data()), header.bytes));
    break;
  case Header::leftRun:
    if (header.key.from >= 0 && static_cast<size_t>(header.key.from) < leftRuns.size())
      leftRuns[static_cast<size_t>(header.key.from)] =
          std::max(leftRuns[static_cast<size_t>(header.key.from)],
                   static_cast<int64_t>(header.key.sequence));
    break;
  case Header::goodbye:
    link.hasSaidGoodbye = true;
    break;
  case Header::where:
    wheres[header.key.from] =
        std::string(reinterpret_cast<const char *>(link.parked.data()), header.bytes);
    break;
  }
  link.expected = nullptr;
}

/// Takes messages, and parts of them, out of what was read.
void Mesh::consume(Link &link) {
  while (!link.isGone) {
    const size_t have = link.end - link.begin;
    if (!link.isInside) {
      if (have < sizeof(Header))
        break;
      std::memcpy(&link.header, &link.buffer[link.begin], sizeof(Header));
      link.begin += sizeof(Header);
      // Nobody sends more at once than it has memory for; whoever says so is not one of us.
      if (link.header.magic != Header::right || link.header.bytes > (uint64_t(1) << 40))
        return lose(link, "what came is not a message");
      beginMessage(link);
    }
    const size_t now = std::min(link.left, link.end - link.begin);
    if (now > 0) {
      std::memcpy(link.to, &link.buffer[link.begin], now);
      link.begin += now;
      link.to += now;
      link.left -= now;
      if (link.expected)
        count(*link.expected, now);
    }
    if (link.left > 0)
      break;
    endMessage(link);
  }
  if (link.begin == link.end)
    link.begin = link.end = 0;
  else if (link.begin > 0) {
    std::memmove(link.buffer.data(), &link.buffer[link.begin], link.end - link.begin);
    link.end -= link.begin;
    link.begin = 0;
  }
}

bool Mesh::drain(Link &link) {
  // Bounded, so that one who sends without end does not keep us from the others.
  for (int times = 0; times < 8 && !link.isGone; ++times) {
    const bool isDirect = link.isInside && link.end == 0 && link.left >= bufferBytes / 2;
    // What is read at once is looked at while it is in the cache.
    std::byte *to = isDirect ? link.to : link.buffer.data() + link.end;
    const size_t room =
        isDirect ? std::min<size_t>(link.left, 512 << 10) : link.buffer.size() - link.end;
    const ssize_t count = recv(link.socket, to, room, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return false;
    if (count <= 0) {
      lose(link, count == 0 ? "its end was closed" : std::strerror(errno));
      return false;
    }
    const auto bytes = static_cast<size_t>(count);
    if (isDirect) {
      link.to += bytes;
      link.left -= bytes;
      if (link.expected)
        this->count(*link.expected, bytes);
      if (link.left == 0)
        endMessage(link);
      return true; // whoever waits may begin with it
    }
    link.end += bytes;
    consume(link);
    if (bytes < room)
      return false; // there was no more
  }
  return !link.isGone;
}

void Mesh::progress(std::chrono::milliseconds longest) {
  if (longest.count() == 0 && links.size() <= fewLinks) {
    std::lock_guard lock(mutex);
    for (auto &link : links)
      if (!link->isGone) {
        if (!link->queue.empty())
          flush(*link);
        drain(*link);
      }
    return;
  }
  epoll_event events[64];
  const int count = epoll_wait(poller, events, 64, static_cast<int>(longest.count()));
  std::lock_guard lock(mutex);
  for (int i = 0; i < count; ++i) {
    auto *link = static_cast<Link *>(events[i].data.ptr);
    if (!link) {
      uint64_t rung;
      (void)!read(bell, &rung, sizeof rung);
      continue;
    }
    if (link->isGone)
      continue;
    if (events[i].events & EPOLLOUT)
      flush(*link);
    drain(*link);
  }
}

void Mesh::wake() {
  const uint64_t one = 1;
  (void)!write(bell, &one, sizeof one);
}

void Mesh::tellAll(Header::Type type, int64_t number, std::string_view text) {
  std::lock_guard lock(mutex);
  for (auto &link : links) {
    if (link->isGone || link->socket < 0)
      continue;
    Outgoing &message = link->queue.emplace_back();
    message.header.type = type;
    message.header.key.from = static_cast<int32_t>(number);
    message.header.bytes = text.size();
    const auto *bytes = reinterpret_cast<const std::byte *>(text.data());
    message.owned.assign(bytes, bytes + text.size());
    message.data = message.owned.data();
    flush(*link);
  }
}

void Mesh::flushFor(std::chrono::milliseconds longest) {
  const Deadline deadline = after(longest);
  while (std::chrono::steady_clock::now() < deadline) {
    {
      std::lock_guard lock(mutex);
      bool isEmpty = true;
      for (auto &link : links)
        if (!link->isGone && link->socket >= 0) {
          flush(*link);
          isEmpty &= link->queue.empty() || link->isGone;
        }
      if (isEmpty)
        return;
    }
    // The other may wait for us to read before it reads itself.
    progress(1ms);
  }
}

void Mesh::fail(std::string text) {
  failure.set(std::move(text));
  passOnFailure();
}

/// The first failure that is known here, once; also one that came from others, because whoever
/// hears next that this process has left should know why.
void Mesh::passOnFailure() {
  if (hasToldFailure.exchange(true))
    return;
  tellAll(Header::aborted, 0, failure.text());
  flushFor(50ms);
  wake();
}

void Mesh::leaveRun(int64_t rank, int64_t run) {
  if (failure.isSet())
    passOnFailure();
  std::lock_guard lock(mutex);
  leftRuns[static_cast<size_t>(rank)] = std::max(leftRuns[static_cast<size_t>(rank)], run);
  for (auto &link : links)
    if (!link->isGone) {
      Outgoing &message = link->queue.emplace_back();
      message.header.type = Header::leftRun;
      message.header.key.from = static_cast<int32_t>(rank);
      message.header.key.sequence = static_cast<uint64_t>(run);
      flush(*link);
    }
  wake();
}

int64_t Mesh::leftRunOf(int64_t rank) {
  std::lock_guard lock(mutex);
  return leftRuns[static_cast<size_t>(rank)];
}

bool Mesh::hasSaidGoodbye(int64_t rank) {
  std::lock_guard lock(mutex);
  auto found = linkOf.find(membership.processOfRank[static_cast<size_t>(rank)]);
  return found != linkOf.end() && found->second->hasSaidGoodbye;
}

void Mesh::say(int64_t rank, std::string_view where) { tellAll(Header::where, rank, where); }

std::string Mesh::whereIs(int64_t rank) {
  std::lock_guard lock(mutex);
  auto found = wheres.find(rank);
  return found == wheres.end() ? "has not sent its part" : found->second;
}

Traffic Mesh::traffic() {
  std::lock_guard lock(mutex);
  return sentBytes;
}

} // namespace tilewright::collective::tcp
