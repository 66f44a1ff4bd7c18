package sandbox

import (
	"slices"
	"strings"
)

// session judges programs that start commands in sessions of their own.
func (c *call) session() {
	switch c.name {
	case "tmux":
		for i, arg := range c.args {
			switch arg {
			case "new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane", "run-shell",
				"run",
				"if-shell", "if", "pipe-pane", "respawn-window", "display-popup", "popup", "confirm-before":
				p := parse(c.args[i+1:], takes{short: "csntxyeFl"}, true)
				if len(p.operands) == 1 {
					c.text(p.operands[0])
				} else if len(p.operands) > 1 {
					c.text(strings.Join(p.operands, " "))
				}
				return
			case "send-keys", "send":
				p := parse(c.args[i+1:], takes{short: "tN"}, false)
				c.text(strings.Join(slices.DeleteFunc(p.operands, func(s string) bool {
					return s == "Enter" || s == "C-m" || s == "C-c"
				}), " "))
				return
			}
		}
	case "screen":
		p := parse(c.args, takes{short: "SceshtTLp"}, true)
		if p.has("X") || p.has("r", "x", "ls", "list") {
			if i := slices.Index(c.args, "stuff"); i >= 0 && i+1 < len(c.args) {
				c.text(escapes(c.args[i+1], false))
			} else if i := slices.Index(c.args, "exec"); i >= 0 {
				c.exec(c.args[i+1:])
			}
			return
		}
		c.exec(p.operands)
	case "concurrently":
		for _, text := range parse(c.args, takes{short: "ncp", long: "names kill-others-on prefix"}, false).operands {
			if !strings.HasPrefix(text, "npm:") {
				c.text(text)
			}
		}
	case "entr", "watchexec", "chronic":
		p := parse(c.args, takes{short: "weifds", long: "watch exts ignore filter debounce signal"}, true)
		if p.has("s", "shell") && c.name == "entr" {
			c.text(strings.Join(append(p.all("s"), p.operands...), " "))
			return
		}
		if len(p.operands) == 1 && c.name == "watchexec" {
			c.text(p.operands[0])
			return
		}
		c.exec(p.operands)
	case "nodemon":
		p := parse(c.args, takes{short: "xweid", long: "exec watch ext ignore delay"}, true)
		for _, text := range p.all("x", "exec") {
			c.text(text)
		}
	case "vagrant":
		for _, text := range parse(c.args, takes{short: "c", long: "command"}, false).all("c", "command") {
			c.text(text)
		}
	case "ansible":
		for _, text := range parse(c.args, takes{short: "a", long: "args"}, false).all("a", "args") {
			c.text(text)
		}
	case "adb":
		if i := slices.Index(c.args, "shell"); i >= 0 && i+1 < len(c.args) {
			c.j.elsewhere++
			c.text(strings.Join(c.args[i+1:], " "))
			c.j.elsewhere--
		}
	case "expect":
		for _, code := range parse(c.args, takes{short: "cf"}, true).all("c") {
			c.code("expect", code)
		}
	}
}
