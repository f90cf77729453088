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

/// With at most this many peers, reading each socket is cheaper than calling epoll_wait.
static constexpr size_t fewLinks = 4;

Mesh::~Mesh() {
  const bool hasFailed = failure.isSet();
  if (!hasFailed)
    sayGoodbye();
  // After a failure a peer may be unreachable, and the surviving processes want to continue without
  // it. So wait only briefly.
  const auto longest = hasFailed ? 20ms : 200ms;
  flushFor(longest);
  std::lock_guard lock(mutex);
  // Closing a socket with unread data sends a reset, which discards data that has not been sent
  // yet. So shut the socket down, then read until everything has been sent.
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
  shutdown(link.socket, SHUT_WR); // so that the peer need not wait for us
  Messages::lose(link.process, link.address, why);
}

/// Handles a connection to which writing failed. The peer may have sent the reason before, so read
/// what it sent.
void Mesh::loseWriting(Link &link, std::string_view why) {
  const std::string reason(why);
  link.queue.clear();
  while (!link.isGone && drain(link)) {
  }
  lose(link, reason);
}

/// If a message for this receive is being received, redirects the remaining bytes to the receive's
/// destination.
void Mesh::adopt(Expected &expected) {
  for (auto &link : links)
    if (link->isInside && matchReceive(link->message, expected, link->have()))
      link->to = link->message.begin() + link->have();
}

/// Called only after a failure: the remaining bytes of the message are received and dropped.
void Mesh::abandon(Expected &expected) {
  for (auto &link : links)
    if (link->message.expected == &expected) {
      link->message.expected = nullptr;
      link->message.parked.assign(link->message.header.bytes, std::byte());
      link->to = link->message.parked.data() + link->have();
    }
}

void Mesh::withdraw(Sent &sent) {
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
      // Part of the message has been sent, so the rest must be sent too, from a copy.
      message.owned.assign(message.data, message.data + message.header.bytes);
      message.data = message.owned.data();
      message.sent = nullptr;
      ++it;
    }
}

void Mesh::post(int64_t process, const Header &header, std::span<const std::byte> bytes,
                Sent *sent) {
  Link &link = *linkOf.at(process);
  if (link.isGone || link.socket < 0)
    return;
  Outgoing &message = link.queue.emplace_back();
  message.header = header;
  message.data = bytes.data();
  if (sent && !bytes.empty()) {
    message.sent = sent;
  } else {
    message.owned.assign(bytes.begin(), bytes.end());
    message.data = message.owned.data();
  }
  flush(link);
}

void Mesh::flush(Link &link) {
  while (!link.queue.empty() && !link.isGone) {
    // Send several messages with one system call.
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

void Mesh::endMessage(Link &link) {
  link.isInside = false;
  end(link.message);
}

/// Processes the complete and partial messages in the read buffer.
void Mesh::consume(Link &link) {
  while (!link.isGone) {
    const size_t have = link.end - link.begin;
    if (!link.isInside) {
      if (have < sizeof(Header))
        break;
      Header header;
      std::memcpy(&header, &link.buffer[link.begin], sizeof(Header));
      link.begin += sizeof(Header);
      if (!header.isRight())
        return lose(link, "received bytes that are not a valid message");
      begin(link.message, header);
      link.isInside = true;
      link.left = header.bytes;
      link.to = link.message.begin();
    }
    const size_t now = std::min(link.left, link.end - link.begin);
    if (now > 0) {
      std::memcpy(link.to, &link.buffer[link.begin], now);
      link.begin += now;
      link.to += now;
      link.left -= now;
      count(link.message, now);
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
  // The number of reads is bounded, so that a peer that sends continuously does not starve other
  // peers.
  for (int times = 0; times < 8 && !link.isGone; ++times) {
    const bool isDirect = link.isInside && link.end == 0 && link.left >= bufferBytes / 2;
    // Limit each read, so that the data is processed while it is in the cache.
    std::byte *to = isDirect ? link.to : link.buffer.data() + link.end;
    const size_t room =
        isDirect ? std::min<size_t>(link.left, 512 << 10) : link.buffer.size() - link.end;
    const ssize_t got = recv(link.socket, to, room, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return false;
    if (got <= 0) {
      lose(link, got == 0 ? "the peer closed it" : std::strerror(errno));
      return false;
    }
    const auto bytes = static_cast<size_t>(got);
    if (isDirect) {
      link.to += bytes;
      link.left -= bytes;
      count(link.message, bytes);
      if (link.left == 0)
        endMessage(link);
      return true; // a waiting operation may start with it
    }
    link.end += bytes;
    consume(link);
    if (bytes < room)
      return false; // the socket is empty
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
    // The peer may be blocked until this process reads its data.
    progress(1ms);
  }
}

} // namespace tilewright::collective::tcp
