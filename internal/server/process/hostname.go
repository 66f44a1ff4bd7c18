package process

import "os"

// Hostname returns the machine's name.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}
