// Package benchmark compares the product's cost with that of JetStream, net/http and the operating system alone, in the
// same run, on the same disk, taking turns. Absolute times mean nothing on a shared machine, so every figure is a
// ratio.
//
// Start reading at [Run]; package rawbench has the baselines.
package benchmark
