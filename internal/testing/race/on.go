//go:build race

package race

// Enabled says that the race detector is on.
const Enabled = true
