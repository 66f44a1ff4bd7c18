package sandbox

import (
	"slices"
	"strings"
)

// builder judges compilers and build tools: the outputs that the line names.
func (c *call) builder() bool {
	switch c.name {
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "as", "rustc", "gfortran", "tcc", "zig", "nasm", "yasm",
		"ghc", "dmd",
		"ocamlopt", "ldc2", "objcopy", "gfortran-12", "nvcc", "tsc", "swiftc", "kotlinc", "javac", "esbuild", "rollup":
		c.compiler()
	case "go":
		c.goTool()
	case "make", "gmake", "ninja", "just", "cmake", "meson", "remake":
		c.make()
	case "pip", "pip3":
		p := parse(c.args, takes{
			short: "trdw",
			long:  "target prefix root requirement dest wheel-dir download log src",
		}, false)
		c.all(p.all("t", "target", "prefix", "root", "d", "dest", "w", "wheel-dir", "log", "src"), writes)
	case "cargo":
		p := parse(c.args, takes{long: "root target-dir out-dir path manifest-path"}, false)
		c.all(p.all("target-dir", "out-dir", "root"), writes)
		if len(p.operands) > 0 && p.operands[0] == "watch" {
			for _, text := range parse(c.args, takes{short: "sxwi", long: "shell exec"}, false).all("s", "shell") {
				c.text(text)
			}
		}
	case "convert", "magick", "ffmpeg", "pdftotext", "pandoc", "asciidoctor", "dot", "gs", "inkscape":
		c.converter()
	default:
		return false
	}
	return true
}

// after judges the values of options that stand behind them or, for short ones, are attached.
func (c *call) after(names ...string) {
	for i, arg := range c.args {
		for _, name := range names {
			switch value, attached := strings.CutPrefix(arg, name+"="); {
			case attached:
				c.all([]string{value}, writes)
			case arg == name && i+1 < len(c.args):
				c.all(c.args[i+1:i+2], writes)
			case len(name) == 2 && strings.HasPrefix(arg, name) && strings.Contains(arg, "/"):
				c.all([]string{arg[2:]}, writes)
			}
		}
	}
}

func (c *call) compiler() {
	switch c.name {
	case "javac":
		c.after("-d", "-s", "-h")
	case "tsc":
		c.after("--outDir", "--outFile", "--declarationDir", "--tsBuildInfoFile")
	case "esbuild":
		c.after("--outfile", "--outdir")
	case "rollup":
		c.after("-o", "-d", "--file", "--dir")
	case "rustc":
		c.after("-o", "--out-dir")
	default:
		c.after("-o", "-MF", "--output", "-femit-bin")
	}
}

func (c *call) goTool() {
	if len(c.args) == 0 {
		return
	}
	verb := c.args[0]
	c.args = c.args[1:]
	for len(c.args) > 1 && c.args[0] == "-C" {
		c.e = c.e.clone()
		c.e.goTo(c.e.absolutes(c.args[1]))
		c.args = c.args[2:]
	}
	switch verb {
	case "build", "test", "vet", "mod", "list", "run", "install", "generate", "get", "work", "tool", "env":
	default:
		return
	}
	for i, arg := range c.args {
		name, value, has := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if !has && i+1 < len(c.args) {
			value = c.args[i+1]
		}
		switch strings.TrimPrefix("-"+strings.TrimLeft(name, "-"), "-") {
		case "exec", "toolexec", "vettool":
			if strings.HasPrefix(arg, "-") {
				c.text(value)
			}
		}
	}
	if verb == "list" || verb == "env" {
		return
	}
	names := []string{
		"-o", "-coverprofile", "-cpuprofile", "-memprofile", "-blockprofile", "-mutexprofile", "-trace",
		"-outputdir",
	}
	if verb == "run" {
		names = nil
	}
	c.after(names...)
	for _, name := range names {
		c.after("-" + name)
	}
	if verb == "run" {
		// go run -exec, and the program's own options
		c.unlisted()
	}
}

func (c *call) make() {
	switch c.name {
	case "cmake":
		if i := slices.Index(c.args, "-E"); i >= 0 && i+1 < len(c.args) {
			c.cmakeTool(c.args[i+1:])
			return
		}
		c.after("-B", "--install-prefix")
		if slices.Contains(c.args, "--install") {
			c.after("--prefix")
		}
		return
	case "ninja", "meson", "just":
		p := parse(c.args, takes{short: "Cfjdf", long: "destdir"}, false)
		if dir, ok := p.last("C"); ok {
			c.all([]string{dir}, writes)
		}
		c.all(p.all("destdir"), writes)
		return
	}
	p := parse(c.args, takes{short: "CfIoWj+l+O+", long: "directory file makefile include-dir eval old-file what-if"},
		false)
	e := c.e.clone()
	for _, dir := range p.all("C", "directory") {
		e.dirs = e.absolutes(dir)
	}
	for _, text := range p.all("eval") {
		c.makefile(text)
	}
	for _, file := range p.all("f", "file", "makefile") {
		if text, ok := c.fed(file); ok {
			c.makefile(text)
		}
	}
	for _, operand := range p.operands {
		name, value, ok := strings.Cut(operand, "=")
		if !ok || value == "" {
			continue
		}
		switch strings.TrimRight(name, ":+?") {
		case "DESTDIR", "PREFIX", "prefix", "INSTALL_ROOT", "BINDIR", "bindir", "INSTALL_PREFIX", "O", "OUT",
			"OUTPUT_DIR":
			c.j.change(e, c.name, value, writes)
		case "SHELL":
			c.text(value)
		}
		for rest := value; ; {
			_, after, found := strings.Cut(rest, "$(shell ")
			if !found {
				break
			}
			text, _, _ := strings.Cut(after, ")")
			c.text(text)
			rest = after
		}
	}
}

// makefile judges the recipes of a makefile that the line contains.
func (c *call) makefile(text string) {
	if vague(text) {
		c.text(unknown)
		return
	}
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		recipe, isRecipe := strings.CutPrefix(line, "\t")
		if !isRecipe {
			_, recipe, isRecipe = strings.Cut(line, ";")
		}
		if isRecipe {
			c.text(strings.ReplaceAll(strings.TrimLeft(strings.TrimSpace(recipe), "@-+"), "$$", "$"))
		}
		if _, after, ok := strings.Cut(line, "$(shell "); ok {
			text, _, _ := strings.Cut(after, ")")
			c.text(text)
		}
	}
}

// cmakeTool judges cmake -E, which has commands such as rm.
func (c *call) cmakeTool(words []string) {
	name := words[0]
	switch name {
	case "rm", "remove", "remove_directory":
		c.all(parse(words[1:], takes{}, false).operands, deletes)
	case "copy", "copy_directory", "copy_if_different", "rename", "make_directory", "touch", "create_symlink",
		"create_hardlink":
		operands := parse(words[1:], takes{}, false).operands
		if name == "rename" {
			c.all(operands, moves)
		} else if name == "create_symlink" && len(operands) > 1 {
			c.j.link(c.e, "cmake -E", operands[1], operands[0], true)
		} else if n := len(operands); name == "make_directory" || name == "touch" {
			c.all(operands, writes)
		} else if n > 0 {
			c.all(operands[n-1:], writes)
		}
	case "env", "time":
		c.exec(append([]string{name}, words[1:]...))
	case "chdir":
		if len(words) > 2 {
			c.e = c.e.clone()
			c.e.goTo(c.e.absolutes(words[1]))
			c.exec(words[2:])
		}
	}
}

// converter judges programs whose output is an operand or an option.
func (c *call) converter() {
	switch c.name {
	case "pandoc", "dot", "asciidoctor", "inkscape":
		c.after("-o", "--output", "--out-file", "--export-filename", "-D", "--destination-dir")
	case "gs":
		c.after("-o", "-sOutputFile")
	default:
		p := parse(c.args, takes{}, false)
		if n := len(p.operands); n > 1 {
			last := p.operands[n-1]
			if strings.Contains(last, "/") && c.args[len(c.args)-1] == last {
				c.all([]string{last}, writes)
			}
		}
	}
}
