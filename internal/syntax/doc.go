// Package syntax says in plain words why an input could not be parsed: the words of the libraries that parse it
// ("bufio.Scanner: token too long", "json: cannot unmarshal array into Go value") mean nothing to who gave the input.
// Start with [Plain].
package syntax
