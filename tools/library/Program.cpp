// The program `tilewright`. All its code is in the library that JAX loads, so LLVM is installed
// only once.
extern "C" int tilewright_command_main(int argc, char **argv);

int main(int argc, char **argv) { return tilewright_command_main(argc, argv); }
