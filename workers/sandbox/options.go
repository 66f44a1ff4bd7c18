package sandbox

import (
	"slices"
	"strings"
)

// option is an option of a command, and its value if it takes one.
type option struct{ name, value string }

// parsed are the arguments of a command.
type parsed struct {
	options  []option
	operands []string
}

// takes says which options of a command take a value. In short are letters; a letter behind a + has a value only if
// that is attached. In long are names; a name with a + behind it has a value only after a =.
type takes struct{ short, long string }

// parse divides arguments as getopt_long does. Options stand anywhere before --, unless first is true: then the first
// operand ends them.
func parse(args []string, t takes, first bool) (p parsed) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			p.operands = append(p.operands, args[i+1:]...)
			return p
		case strings.HasPrefix(arg, "--"):
			name, value, has := strings.Cut(arg[2:], "=")
			if !has && t.isLong(name) && i+1 < len(args) {
				i++
				value = args[i]
			}
			p.options = append(p.options, option{name, value})
		case len(arg) > 1 && arg[0] == '-':
			i += p.bundle(arg[1:], args[i+1:], t)
		default:
			if first {
				p.operands = append(p.operands, args[i:]...)
				return p
			}
			p.operands = append(p.operands, arg)
		}
	}
	return p
}

// bundle reads letters behind one hyphen, and returns how many of the next arguments they use.
func (p *parsed) bundle(letters string, next []string, t takes) int {
	for n := range len(letters) {
		letter := letters[n : n+1]
		at := strings.Index(t.short, letter)
		if at < 0 {
			p.options = append(p.options, option{letter, ""})
			continue
		}
		rest := letters[n+1:]
		if rest != "" || at > 0 && t.short[at-1] == '+' {
			p.options = append(p.options, option{letter, rest})
			return 0
		}
		if len(next) > 0 {
			p.options = append(p.options, option{letter, next[0]})
			return 1
		}
		p.options = append(p.options, option{letter, ""})
		return 0
	}
	return 0
}

// isLong reports whether a long option, which may be abbreviated, takes a value.
func (t takes) isLong(name string) bool {
	if name == "" {
		return false
	}
	for known := range strings.FieldsSeq(t.long) {
		if known == name {
			return true
		}
	}
	for known := range strings.FieldsSeq(t.long) {
		if strings.HasPrefix(known, name) && !strings.HasSuffix(known, "+") && len(name) > 2 {
			return true
		}
	}
	return false
}

// has reports whether one of these options is there; long ones may be abbreviated.
func (p parsed) has(names ...string) bool {
	return slices.ContainsFunc(p.options, func(o option) bool { return o.is(names) })
}

func (o option) is(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return o.name == name || len(o.name) > 2 && len(name) > 1 && strings.HasPrefix(name, o.name)
	})
}

// all returns the values of these options.
func (p parsed) all(names ...string) (values []string) {
	for _, o := range p.options {
		if o.is(names) {
			values = append(values, o.value)
		}
	}
	return values
}

// last returns the last value of these options.
func (p parsed) last(names ...string) (string, bool) {
	values := p.all(names...)
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}
