package sandbox

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Literal returns the words of a command line that is one command, whose words a shell takes as they are written,
// without their quotes. ok is false for any other line.
func Literal(line string) (words []string, ok bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil, false
	}
	stmt := file.Stmts[0]
	call, isCall := stmt.Cmd.(*syntax.CallExpr)
	if !isCall || len(call.Assigns) > 0 || len(stmt.Redirs) > 0 || stmt.Negated || stmt.Background || stmt.Coprocess {
		return nil, false
	}
	for _, word := range call.Args {
		text, ok := literal(word.Parts, false)
		if !ok {
			return nil, false
		}
		words = append(words, text)
	}
	return words, true
}

// special are the characters that a shell expands in words without quotes.
const special = "*?[]{}~"

func literal(parts []syntax.WordPart, quoted bool) (text string, ok bool) {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.Contains(part.Value, "\\") || !quoted && strings.ContainsAny(part.Value, special) {
				return "", false
			}
			text += part.Value
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false
			}
			text += part.Value
		case *syntax.DblQuoted:
			inner, ok := literal(part.Parts, true)
			if !ok || part.Dollar {
				return "", false
			}
			text += inner
		default:
			return "", false
		}
	}
	return text, true
}
