package sandbox

import (
	"slices"
	"strings"
)

// unlisted judges a command of which nothing special is known: options that name an output by their name.
func (c *call) unlisted() {
	if c.onlyReads() {
		return
	}
	for i, arg := range c.args {
		name, value, has := strings.Cut(arg, "=")
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		if !has && i+1 < len(c.args) {
			value = c.args[i+1]
		}
		if !has && strings.HasPrefix(arg, "-o") && len(arg) > 3 && strings.ContainsAny(arg[2:3], "/.~") {
			name, value = "-o", arg[2:]
		}
		if !isOutput(strings.TrimLeft(name, "-")) {
			continue
		}
		for _, dir := range []string{"/", "./", "../", "~"} {
			if strings.HasPrefix(value, dir) || value == ".." || strings.Contains(value, "/../") {
				c.all([]string{value}, writes)
				break
			}
		}
	}
}

// isOutput reports whether an option's name says that its value is written to.
func isOutput(name string) bool {
	switch asciiLower(name) {
	case "o", "out", "output", "output-file", "outputfile", "output-dir", "output-directory", "outdir", "out-dir",
		"outfile",
		"out-file", "outputdir", "output_dir", "output_file", "output-path", "out_dir", "logfile", "log-file",
		"log_file",
		"report-file", "export", "dest", "destination", "dest-dir", "destdir", "dump-file", "save-to", "write-to",
		"target-dir", "output-folder", "output-document", "coverprofile", "cpuprofile", "memprofile", "blockprofile",
		"mutexprofile", "trace-file", "junitxml", "junit-xml", "html-report", "installroot", "install-dir",
		"extract-to",
		"download-dir", "basetemp", "pidfile", "pid-file", "write", "outputfilename":
		return true
	}
	return strings.HasSuffix(name, "_out") || strings.HasSuffix(name, "-out")
}

// onlyReads lists commands whose options with such names are no outputs.
func (c *call) onlyReads() bool {
	return slices.Contains([]string{
		"grep", "egrep", "fgrep", "rg", "ag", "ack", "ps", "ls", "stat", "du", "df", "file", "diff", "cmp", "comm",
		"wc",
		"more", "head", "tail", "which", "lsof", "netstat", "ss", "findmnt", "lsblk", "blkid", "id", "jq", "yq",
		"exa", "eza",
		"pgrep", "pkill", "killall", "readlink", "realpath", "strings", "nm", "objdump", "gh", "bat",
	}, c.name)
}

// output returns what a command prints, if that is known.
func (c *call) output() string {
	if c.hasText {
		return c.printedText
	}
	switch c.name {
	case "mkdir", "rm", "cp", "mv", "ln", "touch", "chmod", "chown", "rmdir", "kill", "mount", "install", "truncate",
		"setfacl",
		"mkfifo", "export", "at", "batch", "chgrp":
		return ""
	case "tee":
		return c.in.text
	case "sort", "uniq", "head", "tail":
		if c.name == "sort" && len(c.args) == 0 || !vague(c.in.text) && c.name != "sort" && c.passesAll() {
			return c.in.text
		}
		return unknown
	case "find", "gfind":
		return c.findOutput()
	case "mktemp":
		return c.temporary()
	case "git":
		if len(c.args) > 0 && slices.Contains(c.args, "--short") || slices.Contains(c.args, "--abbrev-ref") {
			return unknown
		}
		return unknown
	default:
		return unknown
	}
}

// passesAll reports whether head or tail passes a whole text of a few lines.
func (c *call) passesAll() bool {
	p := parse(c.args, takes{short: "nc", long: "lines bytes"}, false)
	lines := strings.Count(strings.TrimSuffix(c.in.text, "\n"), "\n") + 1
	if len(p.operands) > 0 || p.has("c", "bytes") {
		return false
	}
	n, ok := p.last("n", "lines")
	if !ok && len(p.options) == 0 {
		return lines <= 10
	}
	return ok && isNumber(n) && lines == 1 && n == "1" || c.name == "uniq" && len(p.options) == 0
}

// temporary is the path that mktemp prints.
func (c *call) temporary() string {
	p := parse(c.args, takes{short: "p", long: "tmpdir+ suffix"}, false)
	template := "tmp." + someName
	if len(p.operands) > 0 {
		template = p.operands[0]
		end := strings.LastIndex(template, "X") + 1
		start := end
		for start > 0 && template[start-1] == 'X' {
			start--
		}
		template = template[:start] + someName + template[end:]
	}
	dir, inDir := p.last("p", "tmpdir")
	switch {
	case inDir && dir != "":
		return dir + "/" + template + "\n"
	case len(p.operands) == 0 || p.has("t", "tmpdir"):
		if v, ok := c.e.value("TMPDIR"); ok && v != "" {
			return v + "/" + template + "\n"
		}
		return tmp + "/" + template + "\n"
	default:
		return template + "\n"
	}
}
