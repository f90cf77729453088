// For tests: a second process, which runs another test of the same program.
#ifndef TILEWRIGHT_VGPU_DRIVER_TESTING_SECONDPROCESS_H
#define TILEWRIGHT_VGPU_DRIVER_TESTING_SECONDPROCESS_H

#include "gtest/gtest.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilewright::vgpu::driver {

/// The socket between the two processes, in the second one; -1 in a process that no test started.
inline int firstProcess() {
  const char *number = std::getenv("VGPU_TEST_SOCKET");
  return number ? std::atoi(number) : -1;
}

/// Runs the tests that match a filter in a new process.
class SecondProcess {
public:
  explicit SecondProcess(const std::string &filter) {
    int sockets[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    socket = sockets[0];
    const std::string other = std::to_string(sockets[1]), argument = "--gtest_filter=" + filter;
    child = fork();
    EXPECT_GE(child, 0);
    if (child == 0) {
      close(sockets[0]); // so that it sees the end of the first process
      setenv("VGPU_TEST_SOCKET", other.c_str(), 1);
      execl("/proc/self/exe", "second", argument.c_str(), static_cast<char *>(nullptr));
      _exit(127);
    }
    close(sockets[1]);
  }
  ~SecondProcess() {
    close(socket);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "a test failed in the second process";
  }
  SecondProcess(const SecondProcess &) = delete;
  SecondProcess &operator=(const SecondProcess &) = delete;

  int socket = -1;
  pid_t child = -1;
};

template <typename T> void sendTo(int socket, const T &value) {
  ASSERT_EQ(write(socket, &value, sizeof(value)), static_cast<ssize_t>(sizeof(value)));
}
template <typename T> T receiveFrom(int socket) {
  T value{};
  EXPECT_EQ(recv(socket, &value, sizeof(value), MSG_WAITALL), static_cast<ssize_t>(sizeof(value)));
  return value;
}

/// A message of one byte with room for a file descriptor.
struct FileMessage {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  char byte = 0;
  iovec data{&byte, 1};
  msghdr header{};

  FileMessage() {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
  FileMessage(const FileMessage &) = delete;
};

inline void sendFile(int socket, int file) {
  FileMessage message;
  cmsghdr *header = CMSG_FIRSTHDR(&message.header);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &file, sizeof(int));
  ASSERT_EQ(sendmsg(socket, &message.header, 0), 1);
}

inline int receiveFile(int socket) {
  FileMessage message;
  int file = -1;
  if (recvmsg(socket, &message.header, 0) == 1 && CMSG_FIRSTHDR(&message.header))
    std::memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message.header)), sizeof(int));
  return file;
}

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_TESTING_SECONDPROCESS_H
