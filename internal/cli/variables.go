package cli

import (
	"errors"
	"strings"
)

// variables is a flag that takes one NAME=VALUE each time it is given. The value is taken as it is, with its commas,
// quotes and line breaks.
type variables struct{ to *map[string]string }

// String only says whether there are any: a value may be a secret.
func (v variables) String() string {
	if v.to == nil || len(*v.to) == 0 {
		return ""
	}
	return "given"
}

func (v variables) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("it must be NAME=VALUE")
	}
	if *v.to == nil {
		*v.to = map[string]string{}
	}
	(*v.to)[name] = value
	return nil
}

func (variables) Type() string { return "<variable>" }
