"""Runs kernels on a real NVIDIA GPU, in a process of its own, and times them.

`GpuWorker` (worker_process.py) is an ordinary `concurrent.futures.Executor` whose one worker
process owns PyCUDA, or cuda-bindings where PyCUDA is not installed. Nothing in the calling process
imports either, so a crash of a kernel never takes the window along.
"""
