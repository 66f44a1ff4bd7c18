package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles the expression once. The function panics if the expression is wrong.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
