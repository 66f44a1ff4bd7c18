package files

import "maestro/internal/disk"

// Shown is disk.Shown.
func Shown(text string) string { return disk.Shown(text) }
