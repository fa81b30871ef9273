"""CUDA kernels, compiled for one model shape at a time. A team (a thread, or a warp) runs a replica."""
