package main

import (
	"fmt"
	"strconv"
	"strings"

	"maestro/commands"
)

func limitsPage() string {
	var b strings.Builder
	b.WriteString("# Limits\n\n" + notice)
	b.WriteString(`Every limit has a name, which a refusal states together with the number. No limit below is meant to be met by an honest
fleet: each bounds what one caller can cost everybody else.
`)
	for _, group := range commands.Limits() {
		fmt.Fprintf(&b, "\n## %s\n\n", group.Title)
		if group.Intro != "" {
			b.WriteString(group.Intro + "\n\n")
		}
		b.WriteString("| limit | at most | bounds | above it |\n|---|---|---|---|\n")
		for _, l := range group.Limits {
			fmt.Fprintf(&b, "| `%s` | %s %s | %s | %s |\n", l.Name, grouped(l.Value), l.Unit, l.Bounds, l.Answer)
		}
	}
	return b.String() + quotasSection()
}

// grouped writes a number with a comma between thousands.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
