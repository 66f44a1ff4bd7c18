package sandbox

import (
	"slices"
	"strings"
)

// shell judges shells: the text of -c, what they are fed, and scripts that the line itself wrote.
func (c *call) shell() bool {
	switch c.name {
	case "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "pdksh", "ash", "yash", "fish", "csh", "tcsh", "rbash",
		"rksh", "posh",
		"hush", "elvish", "nu", "pwsh", "osh":
	default:
		return false
	}
	args := c.args
	isText, reads := false, false
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			break
		}
		if strings.HasPrefix(arg, "--") {
			switch name, value, has := strings.Cut(arg, "="); name {
			case "--rcfile", "--init-file":
				file := value
				if !has && len(args) > 0 {
					file, args = args[0], args[1:]
				}
				if text, ok := c.fed(file); ok {
					c.text(text)
				}
			case "--command", "--init-command":
				if has {
					c.text(value)
				} else if len(args) > 0 {
					c.text(args[0])
					args = args[1:]
				}
			case "--version", "--help":
				return true
			}
			continue
		}
		if vague(arg) {
			c.text(unknown)
			return true
		}
		letters := arg[1:]
		if arg[0] == '-' && c.name == "fish" && strings.HasPrefix(letters, "C") && len(args) > 0 {
			c.text(args[0])
			args = args[1:]
			continue
		}
		isText = isText || arg[0] == '-' && strings.Contains(letters, "c")
		reads = reads || arg[0] == '-' && strings.Contains(letters, "s")
		if arg[0] == '-' && strings.Contains(letters, "n") && !isText && !strings.Contains(letters, "o") &&
			c.name != "nu" {
			return true // only checks the syntax
		}
		for range strings.Count(letters, "o") + strings.Count(letters, "O") {
			args = args[min(1, len(args)):]
		}
	}
	switch {
	case isText && len(args) > 0:
		c.shellText(args[0], args[min(2, len(args)):])
	case isText:
	case !reads && len(args) > 0 && args[0] != "-":
		if text, ok := c.fed(args[0]); ok {
			c.shellText(text, args[1:])
		} else if vague(args[0]) {
			c.text(unknown)
		}
	case !c.in.inherited:
		c.shellText(c.in.text, args)
	}
	return true
}

func (c *call) shellText(text string, params []string) {
	e := c.e.child()
	e.params = slices.Clone(params)
	if e.params == nil {
		e.params = []string{}
	}
	c.printedText = c.j.text(e, text, c.in)
	c.hasText = true
}

// script judges a program of the line's own: a file that the line wrote.
func (c *call) script() {
	if !strings.Contains(c.path, "/") {
		return
	}
	text, ok := c.j.contentOf(c.e, c.path)
	if !ok {
		return
	}
	first, _, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(first, "#!") && !strings.Contains(first, "sh") {
		c.codeOf(first, text)
		return
	}
	c.shellText(text, c.args)
}
