package sandbox

import (
	"path"
	"strings"
)

// transfer judges commands that copy from or to other machines.
func (c *call) transfer() bool {
	switch c.name {
	case "curl":
		c.curl()
	case "wget", "wget2":
		c.wget()
	case "rsync":
		c.rsync()
	case "scp":
		p := parse(c.args, takes{short: "cDFiJloPSX"}, false)
		c.sshOptions(p)
		for _, text := range p.all("S") {
			c.text(text)
		}
		c.toLocal(p.operands)
	case "sftp":
		p := parse(c.args, takes{short: "BbcDFiJloPRSsX"}, false)
		c.sshOptions(p)
		for _, text := range p.all("S") {
			c.text(text)
		}
		c.toLocal(p.operands)
	case "aria2c", "axel", "lftp", "ftp", "http", "https", "xh":
		c.download()
	default:
		return false
	}
	return true
}

// toLocal judges the last of several operands as the destination.
func (c *call) toLocal(operands []string) {
	if n := len(operands); n > 1 && !isRemote(operands[n-1]) {
		c.all(operands[n-1:], writes)
	}
}

func (c *call) curl() {
	p := parse(c.args, takes{
		short: "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
		long: "output output-dir dump-header cookie-jar cookie data data-raw data-binary data-urlencode form header " +
			"request user user-agent url trace trace-ascii stderr libcurl etag-save etag-compare hsts alt-svc config " +
			"cacert capath cert key max-time connect-timeout retry retry-delay retry-max-time proxy referer range " +
			"resolve upload-file write-out json limit-rate interface netrc-file socks5 unix-socket proto time-cond " +
			"max-redirs aws-sigv4 form-string quote continue-at dns-servers oauth2-bearer pass ciphers tls-max",
	}, false)
	e := c.e.clone()
	if dir, ok := p.last("output-dir"); ok {
		e.dirs = c.e.absolutes(dir)
	}
	for _, file := range p.all("o", "output") {
		if file != "-" {
			c.j.change(e, c.name, file, writes)
		}
	}
	if p.has("O", "remote-name", "remote-name-all", "J") {
		c.j.change(e, c.name, ".", writes)
	}
	for _, file := range p.all("D", "dump-header", "c", "cookie-jar", "trace", "trace-ascii", "stderr", "libcurl",
		"etag-save", "hsts", "alt-svc") {
		if file != "-" && file != "" {
			c.all([]string{file}, writes)
		}
	}
	for _, file := range p.all("K", "config") {
		if text, ok := c.fed(file); ok {
			for line := range strings.Lines(text) {
				name, value, _ := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "-"), "=")
				if name = strings.TrimSpace(name); name == "output" || name == "o" || vague(line) {
					c.all([]string{strings.Trim(strings.TrimSpace(value), `"`)}, writes)
				}
			}
		}
	}
	for _, format := range p.all("w", "write-out") {
		if _, file, ok := strings.Cut(format, "%output{"); ok {
			file, _, _ = strings.Cut(file, "}")
			c.all([]string{strings.TrimPrefix(file, ">>")}, writes)
		}
	}
}

func (c *call) wget() {
	p := parse(c.args, takes{
		short: "oaeiBtOTwQPUlADRIX",
		long: "output-document output-file append-output directory-prefix execute input-file base tries timeout wait " +
			"quota user-agent header post-data post-file method body-data level accept reject domains " +
			"exclude-domains " +
			"user password save-cookies load-cookies ca-certificate certificate private-key limit-rate use-askpass " +
			"warc-file hsts-file referer include-directories exclude-directories rejected-log config cut-dirs",
	}, false)
	c.all(p.all("o", "output-file", "a", "append-output", "save-cookies", "warc-file", "hsts-file", "rejected-log"),
		writes)
	for _, text := range p.all("use-askpass") {
		c.text(text)
	}
	for _, setting := range p.all("e", "execute") {
		name, value, _ := strings.Cut(setting, "=")
		switch strings.TrimSpace(asciiLower(name)) {
		case "use_askpass", "useaskpass":
			c.text(value)
		case "output_document", "dir_prefix", "logfile":
			c.all([]string{strings.TrimSpace(value)}, writes)
		}
	}
	if files := p.all("O", "output-document"); len(files) > 0 {
		for _, file := range files {
			if file != "-" {
				c.all([]string{file}, writes)
			}
		}
		return
	}
	to := "."
	if dir, ok := p.last("P", "directory-prefix"); ok {
		to = dir
	}
	if !p.has("spider") && (len(p.operands) > 0 || p.has("i", "input-file")) {
		c.all([]string{to}, writes)
	}
}

func (c *call) rsync() {
	p := parse(c.args, takes{
		short: "efBTM@",
		long: "rsh rsync-path exclude include filter files-from exclude-from include-from backup-dir suffix log-file " +
			"temp-dir partial-dir link-dest compare-dest copy-dest chmod chown password-file bwlimit timeout port " +
			"write-batch read-batch only-write-batch out-format info debug max-size min-size block-size " +
			"modify-window " +
			"contimeout address sockopts compress-level usermap groupmap log-file-format iconv early-input max-delete",
	}, false)
	for _, text := range p.all("e", "rsh", "rsync-path") {
		c.text(text)
	}
	c.all(p.all("backup-dir", "log-file", "T", "temp-dir", "partial-dir", "write-batch", "only-write-batch"), writes)
	if p.has("n", "dry-run", "list-only") {
		return
	}
	c.toLocal(p.operands)
	if p.has("remove-source-files") && len(p.operands) > 1 {
		for _, source := range p.operands[:len(p.operands)-1] {
			if !isRemote(source) {
				c.all([]string{source}, deletes)
			}
		}
	}
	if to, ok := p.last("link-dest"); ok && len(p.operands) > 1 {
		c.j.link(c.e, c.name, p.operands[len(p.operands)-1]+"/", to, false)
	}
}

func (c *call) download() {
	p := parse(c.args, takes{short: "doe", long: "dir out output download log command"}, false)
	c.all(p.all("d", "dir", "log"), writes)
	for _, text := range p.all("e") {
		if strings.HasPrefix(strings.TrimSpace(text), "!") {
			c.text(strings.TrimPrefix(strings.TrimSpace(text), "!"))
		}
	}
	for _, file := range p.all("o", "out", "output") {
		if dir, ok := p.last("d", "dir"); ok && !strings.HasPrefix(file, "/") {
			file = path.Join(dir, file)
		}
		c.all([]string{file}, writes)
	}
}

// sshOptions judges the options that make ssh run commands here.
func (c *call) sshOptions(p parsed) {
	for _, setting := range p.all("o") {
		name, value, ok := strings.Cut(setting, "=")
		if !ok {
			name, value, _ = strings.Cut(strings.TrimSpace(setting), " ")
		}
		switch asciiLower(strings.TrimSpace(name)) {
		case "proxycommand", "localcommand", "knownhostscommand", "remotecommand":
			if value = strings.TrimSpace(value); value != "none" {
				c.text(value)
			}
		}
	}
}

// remote judges what runs on another machine as if it ran here.
func (c *call) remote() bool {
	var p parsed
	switch c.name {
	case "ssh", "autossh", "slogin":
		p = parse(c.args, takes{short: "BbcDEeFIiJLlmMOopQRSWw"}, true)
		if c.name == "autossh" {
			p = parse(c.args, takes{short: "MBbcDEeFIiJLlmOopQRSWw"}, true)
		}
		c.sshOptions(p)
		c.all(p.all("E"), writes)
	case "mosh":
		p = parse(c.args, takes{short: "p", long: "ssh port server client"}, true)
		for _, text := range p.all("ssh") {
			c.text(text)
		}
	case "rsh", "remsh":
		p = parse(c.args, takes{short: "l"}, true)
	default:
		return false
	}
	operands := p.operands
	if len(operands) > 0 {
		// options may follow the host
		after := parse(operands[1:], takes{short: "BbcDEeFIiJLlmOopQRSWw"}, true)
		if len(after.options) > 0 {
			c.sshOptions(after)
		}
		operands = after.operands
	}
	if len(operands) > 0 && operands[0] == "--" {
		operands = operands[1:]
	}
	if len(operands) > 0 {
		c.text(strings.Join(operands, " "))
	} else if c.in.piped || !c.in.inherited && !c.in.isFile {
		c.text(c.in.text)
	} else if c.in.isFile {
		c.text(unknown)
	}
	return true
}
