package sandbox

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// isWhole reports whether an expansion is of all elements of an array: ${a[@]}.
func (e *env) isWhole(p *syntax.ParamExp) bool { return wholeIndex(p) == "@" }

// wholeIndex returns @ or * if that is the index of an expansion.
func wholeIndex(p *syntax.ParamExp) string {
	if word, ok := p.Index.(*syntax.Word); ok {
		if lit := word.Lit(); lit == "@" || lit == "*" {
			return lit
		}
	}
	return ""
}

// found are the values that an expansion begins with.
type found struct {
	values []string
	// known says that the variable is known; many that it is a list.
	known, many bool
	// name is the variable, for := to assign.
	name string
}

// param adds the value of ${…}.
func (x *expansion) param(p *syntax.ParamExp, quoted, split bool) {
	if p.Param == nil || !x.j.enter() {
		x.cur = append(x.cur, unknown...)
		return
	}
	defer x.j.leave()
	f := x.lookup(p)
	if p.Length {
		x.add(f.length(), quoted, split)
		return
	}
	if p.Excl {
		f = x.indirect(p, f)
	}
	f = x.operate(p, f)
	star := p.Param.Value == "*" || wholeIndex(p) == "*"
	switch {
	case f.many && quoted && star:
		ifs, _ := x.e.value("IFS")
		x.cur = append(x.cur, strings.Join(f.values, firstOf(ifs))...)
	case f.many && split:
		for i, value := range f.values {
			if i > 0 {
				x.end()
			}
			x.open = x.open || quoted
			x.add(value, quoted, true)
			if len(x.out) > maxFields {
				x.j.tooMany()
				return
			}
		}
	default:
		x.add(x.j.kept(strings.Join(f.values, " ")), quoted, split)
	}
}

func firstOf(s string) string {
	if s == "" {
		return ""
	}
	return s[:1]
}

func (f found) length() string {
	if !f.known || (len(f.values) == 1 && !f.many && marked(f.values[0])) {
		return someName
	}
	if f.many {
		return itoa(len(f.values))
	}
	return itoa(utf8.RuneCountInString(strings.Join(f.values, "")))
}

// lookup finds the values of a parameter.
func (x *expansion) lookup(p *syntax.ParamExp) found {
	name, e := p.Param.Value, x.e
	switch name {
	case "@", "*":
		if e.params == nil {
			return found{values: []string{unknown}, many: true}
		}
		return found{values: slices.Clone(e.params), known: true, many: true}
	case "#", "?", "$", "!", "-", "RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "UID", "EUID", "PPID", "BASHPID",
		"LINENO", "SHLVL":
		return found{values: []string{x.special(name)}, known: true}
	case "0":
		return found{values: []string{unknown}}
	}
	if n, err := strconv.Atoi(name); err == nil {
		switch {
		case e.params == nil:
			return found{values: []string{unknown}}
		case n > len(e.params):
			return found{values: []string{""}, known: true}
		}
		return found{values: []string{e.params[n-1]}, known: true}
	}
	v := e.find(name)
	if v == nil {
		x.j.index(e, p.Index)
		return found{values: []string{unknown}, name: name, many: wholeIndex(p) != ""}
	}
	if wholeIndex(p) != "" {
		return found{
			values: slices.Clone(v.values),
			known:  true,
			many:   true,
			name:   name,
		}
	}
	if p.Index != nil {
		return x.element(v, p.Index, name)
	}
	value, known := e.value(name)
	return found{values: []string{value}, known: known, name: name}
}

func (x *expansion) special(name string) string {
	if name == "#" && x.e.params != nil {
		return itoa(len(x.e.params))
	}
	return someName
}

// element finds one element of an array.
func (x *expansion) element(v *variable, index syntax.ArithmExpr, name string) found {
	key := x.j.index(x.e, index)
	if marked(key) {
		return found{values: []string{unknown}, name: name}
	}
	if len(v.keys) == 0 {
		if key == "0" || key == "-1" {
			return found{values: v.values[:min(1, len(v.values))], known: true, name: name}
		}
		return found{values: []string{""}, known: true, name: name}
	}
	if n, err := strconv.Atoi(key); err == nil && n < 0 && len(v.values)+n >= 0 {
		return found{values: []string{v.values[len(v.values)+n]}, known: true, name: name}
	}
	if i := slices.Index(v.keys, key); i >= 0 {
		return found{values: []string{v.values[i]}, known: true, name: name}
	}
	return found{values: []string{""}, known: true, name: name}
}

// index evaluates the index of an array, which is a number or a key.
func (j *judge) index(e *env, index syntax.ArithmExpr) string {
	if index == nil {
		return "0"
	}
	if word, ok := index.(*syntax.Word); ok {
		key := j.literal(e, word)
		if value, ok := e.value(key); ok && syntax.ValidName(key) && isNumber(value) {
			return value
		}
		return key
	}
	return j.arithmetic(e, index)
}

func isNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// indirect follows ${!name}, or lists the keys or names.
func (x *expansion) indirect(p *syntax.ParamExp, f found) found {
	if wholeIndex(p) != "" {
		v := x.e.find(p.Param.Value)
		if v == nil {
			return found{values: []string{unknown}, many: true}
		}
		if len(v.keys) == 0 && len(v.values) > 0 {
			return found{values: []string{"0"}, known: true, many: true}
		}
		return found{values: slices.Clone(v.keys), known: true, many: true}
	}
	if p.Names != 0 {
		var names []string
		for name := range x.e.vars {
			if strings.HasPrefix(name, p.Param.Value) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return found{values: names, known: true, many: true}
	}
	if v := x.e.vars[p.Param.Value]; v != nil && v.refersTo != "" {
		return found{values: []string{v.refersTo}, known: true}
	}
	name := strings.Join(f.values, "")
	if !f.known || marked(name) {
		return found{values: []string{unknown}}
	}
	base, index, indexed := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	to := &syntax.ParamExp{Param: &syntax.Lit{Value: base}}
	if indexed {
		to.Index = &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: index}}}
	}
	return x.lookup(to)
}

// operate applies what stands behind the name.
func (x *expansion) operate(p *syntax.ParamExp, f found) found {
	switch {
	case p.Slice != nil:
		return x.slice(p, f)
	case p.Repl != nil:
		orig, with := x.j.patternOf(x.e, p.Repl.Orig), x.j.literal(x.e, p.Repl.With)
		return f.each(func(s string) string { return x.j.replaced(s, orig, with, p.Repl.All) })
	case p.Exp == nil:
		return f
	}
	switch op := p.Exp.Op; op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		pattern := x.j.patternOf(x.e, p.Exp.Word)
		large := op == syntax.RemLargePrefix || op == syntax.RemLargeSuffix
		suffix := op == syntax.RemSmallSuffix || op == syntax.RemLargeSuffix
		return f.each(func(s string) string { return x.j.trimmed(s, pattern, suffix, large) })
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return f.each(func(s string) string { return cased(s, op) })
	case syntax.OtherParamOps:
		return x.transform(p, f)
	default:
		return x.fallback(p, f)
	}
}

func (f found) each(change func(string) string) found {
	for i, value := range f.values {
		if vague(value) {
			f.values = slices.Clone(f.values)
			f.values[i] = unknown
			continue
		}
		f.values = slices.Clone(f.values)
		f.values[i] = change(value)
	}
	return f
}

// fallback applies :-, :=, :+ and :?.
func (x *expansion) fallback(p *syntax.ParamExp, f found) found {
	word := x.j.literal(x.e, p.Exp.Word)
	value := strings.Join(f.values, "")
	op := p.Exp.Op
	assigns := op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull
	if assigns {
		x.j.setting(f.name, word)
	}
	if !f.known || vague(value) {
		return found{values: []string{unknown}, name: f.name}
	}
	orNull := op == syntax.DefaultUnsetOrNull || op == syntax.AssignUnsetOrNull || op == syntax.AlternateUnsetOrNull
	empty := orNull && value == "" || f.many && len(f.values) == 0
	switch op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if empty {
			return found{values: []string{""}, known: true}
		}
		return found{values: []string{word}, known: true}
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return f
	default:
		if !empty {
			return f
		}
		if assigns {
			x.e.set(f.name, word)
		}
		return found{values: []string{word}, known: true, name: f.name}
	}
}

// slice applies ${a:1:2}.
func (x *expansion) slice(p *syntax.ParamExp, f found) found {
	from, ok1 := x.j.number(x.e, p.Slice.Offset)
	length, ok2 := int64(0), true
	if p.Slice.Length != nil {
		length, ok2 = x.j.number(x.e, p.Slice.Length)
	}
	size := int64(len(f.values))
	if f.many && (p.Param.Value == "@" || p.Param.Value == "*") {
		from-- // $0 comes first
	}
	if !f.many {
		value := strings.Join(f.values, "")
		if marked(value) {
			ok1 = false
		}
		size = int64(len(value))
	}
	if !f.known || !ok1 || !ok2 {
		return found{values: []string{unknown}, many: f.many}
	}
	if from < 0 {
		from += size
	}
	from = max(0, min(from, size))
	to := size
	if p.Slice.Length != nil && length >= 0 {
		to = min(size, from+min(length, size))
	} else if p.Slice.Length != nil {
		to = max(from, size+max(length, -size))
	}
	if f.many {
		return found{values: f.values[from:to], known: true, many: true}
	}
	return found{values: []string{strings.Join(f.values, "")[from:to]}, known: true}
}

// transform applies ${a@U} and its like.
func (x *expansion) transform(p *syntax.ParamExp, f found) found {
	if !f.known || p.Exp.Word == nil {
		return found{values: []string{unknown}, many: f.many}
	}
	switch p.Exp.Word.Lit() {
	case "U":
		return f.each(asciiUpper)
	case "L":
		return f.each(asciiLower)
	case "u":
		return f.each(func(s string) string { return cased(s, syntax.UpperFirst) })
	case "E":
		return f.each(func(s string) string { return escapes(s, true) })
	case "P":
		// prompts run substitutions
		for _, value := range f.values {
			x.j.prompt(x.e, value)
		}
		return f
	case "Q":
		return f.each(quoted)
	default:
		return found{values: []string{unknown}, many: f.many}
	}
}

// prompt judges a text whose substitutions run.
func (j *judge) prompt(e *env, text string) {
	if vague(text) || !strings.ContainsAny(text, "$`") {
		return
	}
	word, err := syntax.NewParser().Document(shallow{strings.NewReader(plain(text))})
	if err != nil {
		j.blocks(RuleUnknown, "The text of a prompt cannot be evaluated. Leave it out.")
		return
	}
	j.document(e.clone(), word)
}

// quoted quotes a text for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func cased(s string, op syntax.ParExpOperator) string {
	switch op {
	case syntax.UpperAll:
		return asciiUpper(s)
	case syntax.LowerAll:
		return asciiLower(s)
	case syntax.UpperFirst:
		return asciiUpper(s[:min(1, len(s))]) + s[min(1, len(s)):]
	default:
		return asciiLower(s[:min(1, len(s))]) + s[min(1, len(s)):]
	}
}

// asciiUpper changes letters only, and leaves marks alone.
func asciiUpper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 32
		}
	}
	return string(b)
}

func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 32
		}
	}
	return string(b)
}
