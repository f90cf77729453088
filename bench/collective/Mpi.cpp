// Times all-reduce of an MPI library: `mpirun -n 2 bench_mpi`. Prints the time of the slowest rank,
// one line per size.
#include "bench/collective/Measure.h"

#include <mpi.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (size_t bytes : bench::sizes) {
    std::vector<float> in(bytes / 4, 1), out(bytes / 4);
    double mine = bench::medianMicroseconds(bytes, [&] {
      MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    });
    double slowest = 0;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
      std::printf("%zu %.4f\n", bytes, slowest);
  }
  MPI_Finalize();
}
