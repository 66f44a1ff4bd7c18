// Package command is `maestro bench`, and the code that the binary runs in place of a command when the benchmark starts
// it as a baseline. It imports the server's packages and internal/cli, because it measures the product through all its
// layers.
//
// Start with New, whose command runs internal/measure/benchmark.
package command
