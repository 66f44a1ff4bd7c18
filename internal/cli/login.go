package cli

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/service/wire"
)

func newLogin(a *Run) *cobra.Command {
	return a.group(
		"login",
		"The logins of browsers",
		newLoginList(a),
		newLoginEnd(a),
	)
}

// open is `maestro open`.
type open struct {
	*Run
	noBrowser bool
}

func newOpen(a *Run) *cobra.Command {
	c := &open{Run: a}
	cmd := &cobra.Command{
		Use:   "open [<path>]",
		Short: "Log in with a browser, and open a page of the server",
		Args:  Takes,
		Long: `Open a page of the server in the browser, logged in with your token. The server
makes a code that is valid once and for 60 seconds. The browser gets it from a
file that only you can read, so no other user of the machine sees it in the
list of processes.

The login lasts 12 hours. It ends earlier with its token, when the server
stops, and with "maestro login end". Without a browser on this machine, use
--no-browser: open the printed page elsewhere, and paste the code.`,
		RunE: Running(c.run),
	}
	cmd.Flags().BoolVar(&c.noBrowser, "no-browser", false,
		"print the page and the code, and start no browser")
	annotated(cmd, onlyFor, onlyUsers)
	return cmd
}

// loginFile forwards the browser to the login page. The code is behind the #, which a browser does not send.
const loginFile = `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<title>Maestro</title>
<meta http-equiv="refresh" content="0; url={{.}}">
<a href="{{.}}">Log in</a>
`

func (c *open) run(ctx context.Context, args []string) error {
	if err := c.notBySession("opens no browser", "a login acts as the user",
		"use the commands: they act as the session"); err != nil {
		return err
	}
	path := At(args, 0)
	if path == "" {
		path = "/"
	}
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return failure.Usage("The page is a path that begins with /, such as /tasks, not %q", path)
	}
	server, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	code, err := server.LoginCode(ctx)
	if err != nil {
		return err
	}
	page := server.Base() + "/login"
	if c.noBrowser {
		c.Result(struct {
			Page string `json:"page"`
			wire.LoginCode
		}{page, code}, func() { c.Print("Page  %s\nCode  %s\n", page, code.Code) })
		return nil
	}
	words := url.Values{"code": {code.Code}, "path": {path}}
	text := strings.ReplaceAll(loginFile, "{{.}}", html.EscapeString(page+"#"+words.Encode()))
	file, err := c.placeLogin(text)
	if err != nil {
		return err
	}
	if err := browse(c.Getenv, file); err != nil {
		return &failure.Error{
			Status:  http.StatusInternalServerError,
			Code:    "BROWSER",
			Message: "No browser could be started",
			Why:     err.Error(),
			Next:    "run `maestro open --no-browser`, and paste the code on the page that it prints",
		}
	}
	c.Result(struct {
		Page string `json:"page"`
	}{page}, func() {
		c.Print("Opened %s%s in the browser\n", server.Base(), path)
		c.Print("If no page appears: maestro open --no-browser\n")
	})
	return nil
}

// placeLogin writes the file that the browser opens, in the home, where only the user can read it.
func (c *open) placeLogin(text string) (file string, err error) {
	path, err := home.Path(c.Getenv)
	if err != nil {
		return "", err
	}
	h, err := home.Create(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = h.Close() }()
	return h.PlaceLogin([]byte(text))
}

// atOnce is how long a browser that cannot start may take to say so: one that works stays longer, or hands the page
// over to another one and succeeds.
const atOnce = 500 * time.Millisecond

// browse starts the first browser that can be started with a file.
func browse(getenv func(string) string, file string) (err error) {
	for _, words := range browsers(getenv, file) {
		if err = start(words); err == nil {
			return nil
		}
	}
	return err
}

// browsers returns the commands that open a file. $BROWSER names others than the desktop's, as xdg-open reads it: a
// list with colons, in each of which %s stands for the page.
func browsers(getenv func(string) string, file string) (all [][]string) {
	separator := ":"
	if runtime.GOOS == "windows" {
		separator = ";"
	}
	for entry := range strings.SplitSeq(getenv("BROWSER"), separator) {
		words := strings.Fields(entry)
		if len(words) == 0 {
			continue
		}
		if _, err := exec.LookPath(entry); err == nil { // its path has a space
			words = []string{entry}
		}
		if !strings.Contains(entry, "%s") {
			words = append(words, "%s")
		}
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, "%s", file)
		}
		all = append(all, words)
	}
	switch {
	case len(all) > 0:
	case runtime.GOOS == "darwin":
		all = [][]string{{"open", file}}
	case runtime.GOOS == "windows":
		all = [][]string{{"rundll32", "url.dll,FileProtocolHandler", file}}
	default:
		all = [][]string{{"xdg-open", file}}
	}
	return all
}

// start starts a program that outlives this command. It fails if the program fails at once.
func start(words []string) error {
	path, err := exec.LookPath(words[0])
	if err != nil {
		return err
	}
	cmd := exec.Command(path, words[1:]...) //nolint:gosec,noctx // the browser outlives this command
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%s: %w", words[0], err)
		}
	case <-time.After(atOnce):
	}
	return nil
}

// loginList is `maestro login list`.
type loginList struct {
	*Run
}

func newLoginList(a *Run) *cobra.Command {
	c := &loginList{Run: a}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the browsers that are logged in",
		Args:  Takes,
		RunE:  Running(c.run),
	}
	a.ListFlags(cmd)
	a.watchTicksFlag(cmd)
	return cmd
}

func (c *loginList) run(ctx context.Context, _ []string) error {
	logins, err := Look(ctx, c.Run, (*client.Client).Logins)
	if err != nil {
		return err
	}
	columns := []string{"LOGIN", "TOKEN", "FROM", "SINCE", "UNTIL"}
	List(c.Run, logins, "No browser is logged in", columns, func(l wire.Login) []string {
		return []string{l.ID, l.Token, "from " + l.Address, "since " + c.When(l.Since), "until " + c.When(l.Until)}
	})
	return nil
}

// loginEnd is `maestro login end`.
type loginEnd struct {
	*Run
}

func newLoginEnd(a *Run) *cobra.Command {
	c := &loginEnd{Run: a}
	return &cobra.Command{
		Use:   "end <loginId>",
		Short: "End the login of a browser, and what it has open",
		Args:  Takes,
		RunE:  Running(c.run),
	}
}

func (c *loginEnd) run(ctx context.Context, args []string) error {
	server, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	ended, err := server.EndLogin(ctx, At(args, 0))
	if err != nil {
		return err
	}
	c.Result(ended, func() { c.Print("Ended the login %s\n", ended.ID) })
	return nil
}
