package sandbox

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// descriptor returns the descriptor that a redirection is of.
func descriptor(r *syntax.Redirect) string {
	if r.N != nil {
		return r.N.Value
	}
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return "0"
	default:
		return "1"
	}
}

// redirections judges the redirections of a statement. It sets what the statement reads, and returns the files that its
// output goes to.
func (j *judge) redirections(e *env, s *syntax.Stmt, in *input) (files []string) {
	for _, r := range s.Redirs {
		fd := descriptor(r)
		if name, ok := strings.CutPrefix(fd, "{"); ok {
			j.setting(strings.TrimSuffix(name, "}"), someName)
			e.set(strings.TrimSuffix(name, "}"), someName)
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			j.feed(fd, in, &input{text: j.hereDocument(e, r)})
		case syntax.WordHdoc:
			j.feed(fd, in, &input{text: j.literal(e, r.Word) + "\n"})
		case syntax.RdrIn:
			for _, file := range j.fields(e, []*syntax.Word{r.Word}) {
				j.read(e, "The redirection", file)
				text, ok := j.contentOf(e, file)
				j.feed(fd, in, &input{text: text, isFile: !ok})
			}
		case syntax.DplIn:
			from := j.literal(e, r.Word)
			if text, ok := j.texts["/dev/fd/"+from]; ok {
				j.feed(fd, in, &input{text: text, piped: true})
			} else if from != "-" {
				j.feed(fd, in, &input{text: unknown, piped: true})
			}
		case syntax.DplOut:
			to := j.literal(e, r.Word)
			if strings.Trim(to, "0123456789-") == "" && to != "" || to == someName || to == "p" {
				continue
			}
			j.change(e, "The redirection", to, writes)
			files = append(files, to)
		default:
			for _, file := range j.fields(e, []*syntax.Word{r.Word}) {
				j.change(e, "The redirection", file, writes)
				if fd == "1" {
					files = append(files, file)
				}
			}
		}
	}
	return files
}

// feed sets what a descriptor reads.
func (j *judge) feed(fd string, in, from *input) {
	if fd == "0" {
		*in = *from
		return
	}
	j.texts["/dev/fd/"+fd] = from.text
}

// contentOf returns what the line itself wrote to a file; false if that is not known.
func (j *judge) contentOf(e *env, file string) (string, bool) {
	if vague(file) || patterned(file) {
		return unknown, false
	}
	for _, abs := range e.absolutes(file) {
		if abs == "/dev/null" {
			return "", true
		}
		if text, ok := j.texts[abs]; ok {
			return text, true
		}
	}
	return unknown, false
}

// hereDocument evaluates a here-document.
func (j *judge) hereDocument(e *env, r *syntax.Redirect) string {
	if r.Hdoc == nil {
		return ""
	}
	var text string
	if isQuoted(r.Word) {
		var raw strings.Builder
		for _, part := range r.Hdoc.Parts {
			if lit, ok := part.(*syntax.Lit); ok {
				raw.WriteString(lit.Value)
			}
		}
		text = j.kept(raw.String())
	} else {
		text = j.document(e, r.Hdoc)
	}
	if r.Op != syntax.DashHdoc {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	return strings.Join(lines, "\n")
}

func isQuoted(word *syntax.Word) bool {
	if word == nil {
		return false
	}
	for _, part := range word.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, "\\") {
			return true
		}
	}
	return false
}
