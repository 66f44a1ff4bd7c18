package sandbox

import (
	"slices"
	"strings"
)

// archive judges commands that pack and unpack.
func (c *call) archive() bool {
	switch c.name {
	case "tar", "gtar", "bsdtar":
		c.tar()
	case "unzip":
		c.unzip()
	case "zip":
		p := parse(c.args, takes{short: "bitxnOP", long: "unzip-command temp-path out output-file password"}, false)
		c.all(p.operands[:min(1, len(p.operands))], writes)
		c.all(p.all("b", "O", "out", "output-file"), writes)
		if p.has("m", "move") && len(p.operands) > 1 {
			c.all(p.operands[1:], deletes)
		}
		for _, text := range p.all("TT", "unzip-command") {
			c.text(text)
		}
		for i, arg := range c.args {
			if arg == "-TT" && i+1 < len(c.args) {
				c.text(c.args[i+1])
			}
		}
	case "cpio", "pax":
		c.cpio()
	case "7z", "7za", "7zr", "7zz":
		c.sevenZip()
	case "unrar", "rar", "unar", "lha":
		c.unrar()
	case "ar", "jar":
		c.ar()
	case "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "lzma", "unlzma", "lz4", "compress",
		"uncompress", "pigz", "brotli", "zstdmt", "lzip", "pbzip2":
		p := parse(c.args, takes{short: "SoT", long: "suffix output threads format block-size memlimit"}, false)
		c.all(p.all("o", "output"), writes)
		if !p.has("c", "stdout", "to-stdout", "t", "test", "l", "list") {
			c.all(p.operands, writes)
		}
	default:
		return false
	}
	return true
}

func (c *call) tar() {
	args := slices.Clone(c.args)
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && !strings.HasPrefix(args[0], "+") {
		args = oldStyle(args)
	}
	t := takes{
		short: "CfbTXIFgHLNKV",
		long: "directory file use-compress-program to-command info-script new-volume-script checkpoint-action " +
			"transform " +
			"xform rsh-command rmt-command files-from exclude exclude-from strip-components format owner group mtime " +
			"newer mode listed-incremental index-file volno-file warning checkpoint+ one-top-level+ blocking-factor " +
			"tape-length label sort level starting-file suffix backup+ add-file",
	}
	e := c.e.clone()
	p := parse(args, t, false)
	for _, o := range p.options {
		switch {
		case o.is([]string{"C", "directory"}):
			e.dirs = e.absolutes(o.value)
		case o.is([]string{
			"I", "use-compress-program", "to-command", "info-script", "new-volume-script", "F", "rsh-command",
			"rmt-command",
		}):
			c.text(o.value)
		case o.is([]string{"checkpoint-action"}):
			if text, ok := strings.CutPrefix(o.value, "exec="); ok {
				c.text(text)
			} else if vague(o.value) {
				c.text(unknown)
			}
		case o.is([]string{"index-file", "volno-file", "g", "listed-incremental"}):
			c.all([]string{o.value}, writes)
		case o.is([]string{"one-top-level"}) && o.value != "":
			c.j.change(e, c.name, o.value, writes)
		}
	}
	file, named := p.last("f", "file")
	packs := p.has("c", "create", "r", "append", "u", "update", "A", "catenate", "concatenate", "delete")
	switch {
	case packs:
		if named && file != "-" && !isRemote(file) {
			c.j.change(c.e, c.name, file, writes)
		}
		if p.has("remove-files") {
			for _, operand := range p.operands {
				c.j.change(e, c.name, operand, deletes)
			}
		}
	case p.has("x", "extract", "get"):
		if p.has("O", "to-stdout", "to-command") {
			return
		}
		c.j.change(e, c.name, ".", writes)
		if p.has("P", "absolute-names") {
			c.j.blocks(RuleOutside, "tar -P unpacks to absolute paths, which may be outside the target. Leave -P out.")
		}
	}
}

// oldStyle turns tar's letters without a hyphen into options.
func oldStyle(args []string) []string {
	rest := args[1:]
	var out []string
	for _, letter := range args[0] {
		out = append(out, "-"+string(letter))
		if strings.ContainsRune("CfbTXIFgHLNKV", letter) && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

func isRemote(file string) bool {
	host, _, ok := strings.Cut(file, ":")
	return ok && !strings.Contains(host, "/")
}

func (c *call) unzip() {
	p := parse(c.args, takes{short: "dPx"}, false)
	if p.has("l", "t", "v", "Z", "z", "p", "c") || len(p.operands) == 0 {
		return
	}
	to := "."
	if dir, ok := p.last("d"); ok {
		to = dir
	}
	c.all([]string{to}, writes)
}

func (c *call) cpio() {
	p := parse(c.args, takes{
		short: "DFIOEHRMCbf",
		long:  "directory file format owner rsh-command pattern-file",
	}, false)
	e := c.e.clone()
	if dir, ok := p.last("D", "directory"); ok {
		e.dirs = c.e.absolutes(dir)
	}
	for _, text := range p.all("rsh-command") {
		c.text(text)
	}
	writesFile := p.has("o", "create")
	if c.name == "pax" {
		p = parse(c.args, takes{short: "fbosxT"}, false)
		writesFile = p.has("w") && !p.has("r")
		for _, file := range p.all("f") {
			if writesFile {
				c.all([]string{file}, writes)
			}
		}
		if p.has("r") {
			c.j.change(e, c.name, ".", writes)
			if p.has("w") {
				c.all(p.operands[max(0, len(p.operands)-1):], writes)
			}
		}
		return
	}
	if writesFile {
		c.all(p.all("F", "O", "file"), writes)
	}
	switch {
	case p.has("p", "pass-through"):
		for _, operand := range p.operands {
			c.j.change(e, c.name, operand, writes)
		}
	case p.has("i", "extract") && !p.has("t", "list", "to-stdout"):
		c.j.change(e, c.name, ".", writes)
		if !p.has("no-absolute-filenames") {
			return
		}
	}
}

func (c *call) sevenZip() {
	p := parse(c.args, takes{}, false)
	if len(p.operands) == 0 {
		return
	}
	switch p.operands[0] {
	case "a", "u", "d", "rn":
		c.all(p.operands[1:min(2, len(p.operands))], writes)
	case "x", "e":
		to := "."
		for _, arg := range c.args {
			if dir, ok := strings.CutPrefix(arg, "-o"); ok {
				to = dir
			}
		}
		c.all([]string{to}, writes)
	}
}

func (c *call) unrar() {
	p := parse(c.args, takes{short: "o", long: "output-directory"}, false)
	if dir, ok := p.last("o", "output-directory"); ok && c.name == "unar" {
		c.all([]string{dir}, writes)
		return
	}
	if c.name == "unar" || len(p.operands) > 0 && strings.Contains("x e a u d m f", p.operands[0]) {
		c.j.change(c.e, c.name, ".", writes)
		if n := len(p.operands); n > 2 {
			c.all(p.operands[n-1:], writes)
		}
		if n := len(p.operands); n > 1 && strings.Contains("a u d m f", p.operands[0]) {
			c.all(p.operands[1:2], writes)
		}
	}
}

func (c *call) ar() {
	if len(c.args) == 0 {
		return
	}
	letters := strings.TrimLeft(c.args[0], "-")
	if c.name == "ar" {
		switch {
		case strings.ContainsAny(letters, "rqdms"):
			c.all(c.args[1:min(2, len(c.args))], writes)
		case strings.Contains(letters, "x"):
			c.all([]string{"."}, writes)
		}
		return
	}
	p := parse(c.args, takes{short: "fCe", long: "file"}, false)
	switch {
	case strings.ContainsAny(letters, "cu") && !strings.HasPrefix(c.args[0], "--"):
		if strings.Contains(letters, "f") && len(c.args) > 1 {
			c.all(c.args[1:2], writes)
		}
	case p.has("c", "create", "u", "update"):
		c.all(p.all("f", "file"), writes)
	case strings.Contains(letters, "x"):
		c.all([]string{"."}, writes)
	}
}
