// Package benchmark measures what the product costs beside what JetStream, net/http and the operating system do without
// it, in the same run, on the same disk, in turn. Absolute times mean nothing on a shared machine, so every figure is a
// ratio.
//
// Start reading at [Run]; package rawbench has the baselines.
package benchmark
