package sandbox

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// expansion collects the words that one word becomes.
type expansion struct {
	j   *judge
	e   *env
	out []string
	cur []byte
	// open says that the current word exists even if it is empty.
	open bool
	// pattern keeps patterns active in a word that is not split.
	pattern bool
}

// fields evaluates words as arguments.
func (j *judge) fields(e *env, words []*syntax.Word) (out []string) {
	for _, word := range words {
		for _, single := range j.braces(word) {
			x := expansion{j: j, e: e}
			x.parts(single.Parts, false, true)
			x.end()
			out = append(out, x.out...)
			if len(out) > maxFields {
				j.tooMany()
			}
			if j.verdict != nil {
				return nil
			}
		}
	}
	return out
}

func (j *judge) tooMany() {
	j.blocks(RuleUnknown, "The line expands to too many words to be evaluated. Name fewer paths.")
}

// literal evaluates a word that is not split, such as the value of an assignment.
func (j *judge) literal(e *env, word *syntax.Word) string {
	if word == nil {
		return ""
	}
	x := expansion{j: j, e: e}
	x.parts(word.Parts, false, false)
	x.end()
	return j.kept(strings.Join(x.out, " "))
}

// patternOf evaluates a word that is a pattern.
func (j *judge) patternOf(e *env, word *syntax.Word) string {
	if word == nil {
		return ""
	}
	x := expansion{j: j, e: e, pattern: true}
	x.parts(word.Parts, false, false)
	x.end()
	return strings.Join(x.out, " ")
}

// document evaluates the text of a here-document.
func (j *judge) document(e *env, word *syntax.Word) string {
	if word == nil {
		return ""
	}
	x := expansion{j: j, e: e}
	x.parts(word.Parts, true, false)
	x.end()
	return j.kept(strings.Join(x.out, " "))
}

// end closes the current word.
func (x *expansion) end() {
	if x.open || len(x.cur) > 0 {
		x.out = append(x.out, x.j.kept(string(x.cur)))
	}
	x.cur, x.open = x.cur[:0], false
}

// parts evaluates the parts of a word. Words are split, and patterns active, only if split is true and they are not
// quoted.
func (x *expansion) parts(parts []syntax.WordPart, quoted, split bool) {
	if !x.j.enter() {
		return
	}
	defer x.j.leave()
	for i, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text := part.Value
			if !quoted {
				if i == 0 {
					text = x.tilde(text, len(parts) > 1)
				}
				x.cur = append(x.cur, unescaped(text, split || x.pattern)...)
			} else {
				x.cur = append(x.cur, unescapedQuoted(text)...)
			}
		case *syntax.SglQuoted:
			x.open = true
			if part.Dollar {
				x.cur = append(x.cur, escapes(part.Value, true)...)
			} else {
				x.cur = append(x.cur, part.Value...)
			}
		case *syntax.DblQuoted:
			if !emptyList(x, part) {
				x.open = true
			}
			x.parts(part.Parts, true, split)
		case *syntax.ParamExp:
			x.param(part, quoted, split)
		case *syntax.CmdSubst:
			x.add(x.j.substitution(x.e, part), quoted, split)
		case *syntax.ArithmExp:
			x.add(x.j.arithmetic(x.e, part.X), quoted, split)
		case *syntax.ProcSubst:
			x.cur = append(x.cur, x.j.process(x.e, part)...)
		case *syntax.ExtGlob:
			x.cur = append(x.cur, markAny)
			if part.Op == syntax.GlobOne || strings.ContainsAny(part.Pattern.Value, "/|") {
				x.cur = append(x.cur, unknown...)
			}
		default:
			x.cur = append(x.cur, unknown...)
		}
		if x.j.verdict != nil || !x.j.spend(len(x.cur)/64) {
			return
		}
	}
}

// emptyList reports whether a quoted part is "$@" or "${a[@]}" and becomes no word if the list is empty.
func emptyList(x *expansion, part *syntax.DblQuoted) bool {
	if len(part.Parts) != 1 {
		return false
	}
	p, ok := part.Parts[0].(*syntax.ParamExp)
	return ok && p.Param != nil && (p.Param.Value == "@" || x.e.isWhole(p))
}

// add adds an evaluated text, which is split if it is not quoted.
func (x *expansion) add(text string, quoted, split bool) {
	if quoted || !split {
		if x.pattern && !quoted {
			text = active(text)
		}
		x.cur = append(x.cur, text...)
		return
	}
	ifs, ok := x.e.value("IFS")
	if !ok || vague(ifs) {
		ifs = " \t\n"
	}
	text = active(text)
	for i := range len(text) {
		c := text[i]
		switch {
		case strings.IndexByte(ifs, c) < 0:
			x.cur = append(x.cur, c)
		case c == ' ' || c == '\t' || c == '\n' || len(x.cur) > 0:
			x.end()
		default:
			x.open = true
			x.end()
		}
	}
}

// tilde expands ~ at the beginning of a word, and after the = of one that looks like an assignment.
func (x *expansion) tilde(text string, more bool) string {
	if name, value, ok := strings.Cut(text, "=~"); ok && syntax.ValidName(strings.TrimLeft(name, "-")) {
		return name + "=" + x.tilde("~"+value, more)
	}
	if !strings.HasPrefix(text, "~") {
		return text
	}
	user, rest, slash := strings.Cut(text[1:], "/")
	if slash {
		rest = "/" + rest
	}
	if more && !slash {
		return text
	}
	switch user {
	case "":
		home, _ := x.e.value("HOME")
		return protected(home) + rest
	case "+":
		return protected(x.e.dir()) + rest
	case "-":
		dir, _ := x.e.value("OLDPWD")
		return protected(dir) + rest
	case "root":
		return "/root" + rest
	default:
		return "/home/" + user + rest
	}
}

// protected escapes a text that is evaluated again as a literal.
func protected(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte("\\*?[", s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unescaped removes the backslashes of a literal without quotes, and makes its patterns active.
func unescaped(s string, patterns bool) string {
	if !strings.ContainsAny(s, "\\*?[") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case patterns && c == '*':
			b.WriteByte(markAny)
		case patterns && c == '?':
			b.WriteByte(markOne)
		case patterns && c == '[' && strings.IndexByte(s[i:], ']') > 0:
			b.WriteByte(markSet)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescapedQuoted removes the backslashes of a literal in double quotes.
func unescapedQuoted(s string) string {
	if !strings.Contains(s, "\\") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// substitution judges the commands of a substitution, and returns what they print.
func (j *judge) substitution(e *env, part *syntax.CmdSubst) string {
	if len(part.Stmts) == 1 && part.Stmts[0].Cmd == nil && len(part.Stmts[0].Redirs) == 1 {
		// $(<file) reads a file
		in := &input{}
		j.redirections(e, part.Stmts[0], in)
		return strings.TrimRight(in.text, "\n")
	}
	return strings.TrimRight(j.statements(e.clone(), part.Stmts, &input{text: unknown, inherited: true}), "\n")
}

// process judges a process substitution, and returns the path that stands for it.
func (j *judge) process(e *env, part *syntax.ProcSubst) string {
	in := &input{text: unknown, inherited: true}
	if part.Op == syntax.CmdOut {
		in = &input{text: unknown, piped: true}
	}
	out := j.statements(e.clone(), part.Stmts, in)
	j.descriptors++
	name := "/dev/fd/" + itoa(62+j.descriptors)
	if part.Op == syntax.CmdIn {
		j.texts[name] = out
	}
	return name
}

// braces returns the words that a word's braces stand for.
func (j *judge) braces(word *syntax.Word) []*syntax.Word {
	braces := 0
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			braces += strings.Count(lit.Value, "{")
		}
	}
	if braces == 0 {
		return []*syntax.Word{word}
	}
	if braces > maxBraces {
		j.tooMany()
		return nil
	}
	copied := &syntax.Word{Parts: append([]syntax.WordPart{}, word.Parts...)}
	syntax.SplitBraces(copied)
	return j.spread(copied.Parts)
}

// spread multiplies out the braces among parts.
func (j *judge) spread(parts []syntax.WordPart) []*syntax.Word {
	if !j.enter() {
		return nil
	}
	defer j.leave()
	words := []*syntax.Word{{}}
	for _, part := range parts {
		choices := [][]syntax.WordPart{{part}}
		if brace, ok := part.(*syntax.BraceExp); ok {
			choices = j.choices(brace)
		}
		if len(words)*len(choices) > maxFields || !j.spend(len(words)*len(choices)) {
			j.tooMany()
			return nil
		}
		next := make([]*syntax.Word, 0, len(words)*len(choices))
		for _, word := range words {
			for _, choice := range choices {
				together := append(append([]syntax.WordPart{}, word.Parts...), choice...)
				next = append(next, &syntax.Word{Parts: together})
			}
		}
		words = next
	}
	return words
}

func (j *judge) choices(brace *syntax.BraceExp) (choices [][]syntax.WordPart) {
	if brace.Sequence {
		for _, text := range sequence(brace) {
			choices = append(choices, []syntax.WordPart{&syntax.Lit{Value: text}})
		}
		if len(choices) == 0 {
			j.tooMany()
		}
		return choices
	}
	for _, elem := range brace.Elems {
		for _, word := range j.spread(elem.Parts) {
			choices = append(choices, word.Parts)
		}
	}
	return choices
}
