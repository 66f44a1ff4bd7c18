// Package syntax explains in plain words why an input could not be parsed. The parsing libraries' own messages
// ("bufio.Scanner: token too long", "json: cannot unmarshal array into Go value") mean nothing to the author of the
// input. Start with [Plain].
package syntax
