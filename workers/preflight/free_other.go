//go:build !linux && !darwin

package preflight

// free returns nothing: this system does not tell.
func free(string) (bytes uint64, known bool) { return 0, false }
