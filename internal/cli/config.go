package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// config is config.json of the home: the user's preferences. A session does not read it.
type config struct {
	// Project is the id of the current project.
	Project string `json:"project,omitempty"`
	// Output is the format of lists without -o: table, json or jsonl.
	Output string `json:"output,omitempty"`
	// Listen is where `serve` listens without --listen and MAESTRO_LISTEN.
	Listen string `json:"listen,omitempty"`
}

// readConfig reads the configuration of the home, which is empty if there is none.
func readConfig(getenv func(string) string) (config, error) {
	path, err := home.Path(getenv)
	if err != nil {
		return config{}, nil //nolint:nilerr // without a home there is no configuration
	}
	h, err := home.Open(path)
	if err != nil {
		return config{}, nil //nolint:nilerr // code that needs the home reports the error
	}
	defer func() { _ = h.Close() }()
	content, err := h.Config()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return config{}, nil
	case err != nil:
		return config{}, err
	}
	return parseConfig(filepath.Join(path, "config.json"), content)
}

func parseConfig(path string, content []byte) (config, error) {
	var c config
	err := commands.ReadBody(context.Background(), content, &c)
	if err == nil && c.Project != "" {
		err = commands.ValidID("/project", c.Project)
	}
	if err == nil && c.Output != "" && c.Output != "table" && c.Output != "json" && c.Output != "jsonl" {
		err = errors.New("output must be table, json or jsonl")
	}
	if err != nil {
		meant := ""
		if refusal := (*commands.Refusal)(nil); errors.As(err, &refusal) && strings.HasPrefix(refusal.Next, "did you") {
			meant = refusal.Next + " "
		}
		return config{}, failure.Usage("The file %s cannot be used", path).
			WithWhy("%s", strings.Replace(err.Error(), "the body", "it", 1)).
			WithNext("correct it: %sits keys are project, output and listen", meant)
	}
	return c, nil
}

// CheckConfig returns why the configuration of the home's user cannot be used, or nil.
func CheckConfig(getenv func(string) string) error {
	_, err := readConfig(getenv)
	return err
}

// Listen returns the address to listen on without --listen, and its source: the environment, or else the configuration.
func (a *Run) Listen() (address, named string, err error) {
	if address, ok := a.Env[envListen]; ok {
		return address, envListen, nil
	}
	if a.isSession() {
		return "", "", nil
	}
	c, err := readConfig(a.Getenv)
	if err != nil || c.Listen == "" {
		return "", "", err
	}
	return c.Listen, "listen in config.json", nil
}

// envListen is the environment variable for the address of `serve`.
const envListen = "MAESTRO_LISTEN"

// ReadsFile makes a command that reads a file take its --project as that of the file, and leave the current project
// out.
func (a *Run) ReadsFile(cmd *cobra.Command, reads func(args []string) bool) {
	if a.readsFile == nil {
		a.readsFile = map[*cobra.Command]func([]string) bool{}
	}
	a.readsFile[cmd] = reads
}

// prefer applies the configuration to a user's command, and resolves the names of projects.
func (a *Run) prefer(cmd *cobra.Command) error {
	project := cmd.Flags().Lookup("project")
	if a.isSession() || project == nil && cmd.Annotations[lists] == "" && cmd.Annotations[inProject] == "" {
		return nil
	}
	c, err := readConfig(a.Getenv)
	if err != nil {
		return &ranError{err}
	}
	a.output = c.Output
	if reads := a.readsFile[cmd]; reads != nil && reads(cmd.Flags().Args()) {
		return nil
	}
	if a.Getenv(wire.EnvProjectID) == "" && c.Project != "" {
		a.Env[wire.EnvProjectID], a.projectFrom = c.Project, "`maestro project use`"
	}
	if project != nil && project.Changed {
		err = a.namedProjects(cmd.Context(), flagValue(project))
	} else {
		err = a.namedByEnvironment(cmd.Context())
	}
	if err != nil {
		return &ranError{err}
	}
	return nil
}

// projectNamed returns the id of the project that a text names. A user's project comes first, by its name and then by
// the prefix of its id, before those of sessions, which may choose both. A text that names no project is taken as an
// id.
func (a *Run) projectNamed(ctx context.Context, text string) (string, error) {
	if madeID().MatchString(text) {
		return text, nil
	}
	var named []wire.Project
	if !strings.HasPrefix(text, "proj_") {
		var err error
		if named, err = Ask(ctx, a, (*client.Client).Projects, wire.ProjectFilter{Name: text}); err != nil {
			return "", err
		}
	}
	if own := usersOwn(named); len(own) > 1 {
		return "", sameName(text, own)
	} else if len(own) == 1 {
		a.sayWhoseName(text, own[0], len(named)-1)
		return own[0].ID, nil
	}
	like, err := a.projectsLike(ctx, text)
	switch {
	case exitCode(err) == ExitNoConnection && strings.HasPrefix(text, "proj_"):
		return text, nil // the command needs no server, as for a file, or reports the error itself
	case err != nil:
		return "", err
	}
	own := usersOwn(like)
	meant := named
	for _, p := range like {
		if p.Name != text { // otherwise it is among named
			meant = append(meant, p)
		}
	}
	switch {
	case len(own) > 1:
		return "", ambiguous(text, candidates(own, ofProject))
	case len(own) == 1:
		return own[0].ID, nil
	case len(meant) == 0:
		return text, a.noSuchProject(ctx, text)
	case len(meant) > 1 && len(named) == 0:
		return "", ambiguous(text, candidates(meant, ofProject))
	case len(meant) > 1:
		return "", sameName(text, meant)
	}
	a.sayWhoseName(text, meant[0], 0)
	return meant[0].ID, nil
}

// projectsLike returns the projects whose ids have a prefix.
func (a *Run) projectsLike(ctx context.Context, text string) ([]wire.Project, error) {
	begins := text
	if !strings.HasPrefix(text, "proj_") {
		begins = "proj_" + text
	}
	if !anyID().MatchString(text) || begins != text && len(text) < shortest {
		return nil, nil
	}
	return Ask(ctx, a, (*client.Client).Projects, wire.ProjectFilter{IDPrefix: begins})
}

// sameName returns the error for a text that names several projects.
func sameName(text string, meant []wire.Project) error {
	f := failure.Usage("%d projects have the name %q", len(meant), safetext.OneLine(text)).
		WithNext("name one by its id: %s", idsOf(candidates(meant, ofProject)))
	if session := makingSession(meant[0]); session != "" {
		f.Why = "sessions created all of them; session '" + session + "' created " + meant[0].ID
	}
	return f
}

// usersOwn returns the projects that users created.
func usersOwn(projects []wire.Project) (own []wire.Project) {
	for _, p := range projects {
		if makingSession(p) == "" {
			own = append(own, p)
		}
	}
	return own
}

// sayWhoseName warns that a name is not only that of a user's project.
func (a *Run) sayWhoseName(name string, meant wire.Project, others int) {
	name = safetext.OneLine(name)
	switch session := makingSession(meant); {
	case session != "":
		a.Say("maestro: the project %q is %s, which session '%s' created\n", name, meant.ID, session)
	case others > 0:
		more := Many(others, "more project")
		a.Say("maestro: the project %q is %s; sessions created %s with that name\n", name, meant.ID, more)
	}
}

// makingSession returns the session that created a project, "" if a user did.
func makingSession(p wire.Project) string {
	_, id, _ := wire.SessionOfSource(p.CreatedBy)
	return safetext.OneLine(id)
}

// projectUse is `maestro project use`.
type projectUse struct {
	*Run
	none bool
}

func newProjectUse(a *Run) *cobra.Command {
	c := &projectUse{Run: a}
	cmd := &cobra.Command{
		Use:   "use [<project>]",
		Short: "Choose the current project, by id or name, or show it",
		Args:  Takes,
		Long: `Choose the current project. Commands use it when neither --project nor
MAESTRO_PROJECT_ID names a project. It is stored in the home's config.json,
which sessions do not read. Without an argument, the command shows the current
project.`,
		RunE: Running(c.run),
	}
	cmd.Flags().BoolVar(&c.none, "none", false, "forget the current project")
	annotated(cmd, onlyFor, onlyUsers)
	return cmd
}

func (c *projectUse) run(ctx context.Context, args []string) error {
	if c.isSession() {
		return c.notBySession("chooses no project", "it works in its own", "leave it to the user")
	}
	path, err := home.Path(c.Getenv)
	if err != nil {
		return err
	}
	set, err := readConfig(c.Getenv)
	if err != nil {
		return err
	}
	switch {
	case c.none && len(args) > 0:
		return failure.Usage("--none and a project cannot be used together").WithNext("leave one of them out")
	case c.none:
		set.Project = ""
	case len(args) == 0:
		c.Result(set, func() {
			if set.Project == "" {
				c.Say("No current project\n")
				return
			}
			c.Print("%s\n", safetext.OneLine(set.Project))
		})
		return nil
	default:
		id, err := c.projectNamed(ctx, args[0])
		if err != nil {
			return err
		}
		p, err := Ask(ctx, c.Run, (*client.Client).Project, id)
		if err != nil {
			return err
		}
		set.Project = p.ID
	}
	content, err := json.MarshalIndent(set, "", "  ")
	if err != nil {
		return err
	}
	h, err := home.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	if err := h.SetConfig(append(content, '\n')); err != nil {
		return err
	}
	c.Result(set, func() {
		if set.Project == "" {
			c.Print("No current project\n")
			return
		}
		c.Print("Current project: %s\n", set.Project)
	})
	return nil
}
