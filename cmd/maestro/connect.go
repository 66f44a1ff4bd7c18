package main

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"maestro/api/client"
	"maestro/internal/home"
	"maestro/projections"
)

const (
	defaultAddress = "http://127.0.0.1:3000"
	// sessionPrefix begins every token that stands for a session.
	sessionPrefix = "mss_"
	// patience is how long an answer may take.
	patience = time.Minute
)

// connect makes the client of the server that is found. What waits of a session goes out first.
func (a *app) connect(ctx context.Context) (*client.Client, error) {
	address, token, err := a.find()
	if err != nil {
		return nil, a.withWaiting(err)
	}
	c := client.New(
		address, token, client.WithVersion(version()),
		client.WithAnswers(func(questions []string) { a.answers = questions }),
		client.WithDamage(func(notice string) { a.damage = notice }), client.WithWaiting(a.sayWaiting),
	)
	if err := a.deliverFirst(ctx, c); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// sayWaiting says why nothing happens for a while.
func (a *app) sayWaiting(limit string, after time.Duration) {
	reached := "The server is busy"
	if limit != "" {
		reached = "Limit " + limit + " reached"
	}
	a.say("maestro: %s; trying again in %d s\n", reached, int(after.Seconds()))
}

// find gives the server's address and the credential, "" if there is none.
func (a *app) find() (address, token string, err error) {
	address = a.getenv("MAESTRO_API_URL")
	if address != "" {
		if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return "", "", usage(
				"MAESTRO_API_URL is not an address: %q",
				address,
			).withNext(
				"set it to something like %s",
				defaultAddress,
			)
		}
	}
	if token, err = a.ownToken(); err != nil {
		return "", "", err
	}
	if address != "" && a.moved != "" {
		address = a.moved
	}
	if address != "" && token != "" {
		return address, token, nil
	}
	return a.atHome(address, token)
}

// ownToken gives the credential that the environment holds, "" if it is the home's that counts. A process that names a
// session never gets the user's.
func (a *app) ownToken() (string, error) {
	token, session := a.getenv("MAESTRO_TOKEN"), a.getenv("MAESTRO_SESSION_ID")
	if session == "" || strings.HasPrefix(token, "mss_"+session+".") {
		return token, nil
	}
	f := &failure{
		status:  http.StatusForbidden,
		code:    "NOT_ALLOWED",
		message: "This process is session '" + session + "', and MAESTRO_TOKEN does not hold the session's secret",
		why:     "a process that names a session acts as that session or not at all, and never with the user's token",
		next:    "pass on the environment that `maestro session spawn` gave; who is not an agent unsets MAESTRO_SESSION_ID",
	}
	switch {
	case strings.HasPrefix(token, home.UserPrefix):
		f.message = "This process is session '" + session + "', and MAESTRO_TOKEN holds a user's token"
	case strings.HasPrefix(token, "mss_"):
		f.message = "This process is session '" + session + "', and MAESTRO_TOKEN holds another session's secret"
	case token != "": // the server knows whose it is, if anybody's
		return token, nil
	}
	return "", f
}

// atHome fills in what the environment left open: where the home's server listens, and the user's token.
func (a *app) atHome(address, token string) (string, string, error) {
	path, err := home.Path(a.getenv)
	if err != nil {
		return orDefault(address), token, nil
	}
	h, err := home.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return orDefault(address), token, nil
	}
	if err != nil {
		return "", "", err
	}
	defer func() { _ = h.Close() }()
	running := h.Running()
	named := address != ""
	if !named {
		if address, err = serverOf(h, running); err != nil {
			return "", "", err
		}
	}
	// The user's token goes to the home's own server, or where the user said: never to whoever else listens on a port.
	if token == "" && (named || running) {
		token, err = h.AdminToken()
		if errors.Is(err, fs.ErrNotExist) {
			return address, "", nil
		}
	}
	return address, token, err
}

func orDefault(address string) string {
	if address == "" {
		return defaultAddress
	}
	return address
}

func serverOf(h *home.Home, running bool) (string, error) {
	server, err := h.Server()
	switch {
	case errors.Is(err, fs.ErrNotExist) && running:
		return "", &client.ConnectionError{
			URL: "the home " + h.Dir(),
			Err: errors.New("its server is starting or stopping"),
		}
	case errors.Is(err, fs.ErrNotExist):
		return defaultAddress, nil
	case err == nil && !running:
		return "", &client.ConnectionError{
			URL: server.Address,
			Err: errors.New("the server of the home " + h.Dir() + " stopped unexpectedly"),
		}
	}
	return server.Address, err
}

// get reads a view.
func (a *app) get(ctx context.Context, path string, query url.Values, into any) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err = c.Get(ctx, path, query, into)
	return err
}

// send asks for a command, in one call.
func (a *app) send(ctx context.Context, id string, body any, key string) (client.Answer, error) {
	return a.sendWith(ctx, id, body, client.Options{Key: key})
}

// sendWith is send with further options.
func (a *app) sendWith(ctx context.Context, id string, body any, o client.Options) (client.Answer, error) {
	c, err := a.connect(ctx)
	if err != nil {
		return client.Answer{}, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o.DryRun = a.dryRun
	answer, err := c.Do(ctx, id, body, o)
	if err == nil && a.dryRun {
		return answer, a.wouldHappen(answer)
	}
	return answer, err
}

// isSession reports whether this process is a session's.
func (a *app) isSession() bool {
	return a.getenv("MAESTRO_SESSION_ID") != "" || strings.HasPrefix(a.getenv("MAESTRO_TOKEN"), sessionPrefix)
}

// project gives the project that is meant: the one named, the environment's, or for a user the only one there is. A
// session that names none means its own, which the server knows.
func (a *app) project(ctx context.Context, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	if id := a.getenv("MAESTRO_PROJECT_ID"); id != "" || a.isSession() {
		return id, nil
	}
	var projects []projections.ProjectView
	if err := a.get(ctx, "/api/projects", nil, &projects); err != nil {
		return "", err
	}
	switch len(projects) {
	case 1:
		return projects[0].ID, nil
	case 0:
		return "", usage("There is no project yet").withNext("make one with `maestro project create NAME`")
	}
	return "", usage("Name a project: there are %d", len(projects)).
		withNext("name one with --project or MAESTRO_PROJECT_ID; see `maestro project list`")
}

// unlessEmpty tells a list of n that is empty from one about things that there are not: "nothing needs you" must not
// come of a typo. about gives the ids of those that were named, by the routes where they stand.
func (a *app) unlessEmpty(ctx context.Context, n int, about map[string]string) error {
	if n > 0 || a.isSession() {
		return nil
	}
	for _, route := range slices.Sorted(maps.Keys(about)) {
		if about[route] == "" {
			continue
		}
		if err := a.get(ctx, pathTo(route, about[route]), nil, nil); exitCode(err) == exitNotFound {
			return err
		}
	}
	return nil
}

// pathTo joins parts of a route; ids may hold anything.
func pathTo(parts ...string) string {
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return "/api/" + strings.Join(parts, "/")
}

// knownProject is project for a route that names it: a session without MAESTRO_PROJECT_ID asks which its own is.
func (a *app) knownProject(ctx context.Context, named string) (string, error) {
	id, err := a.project(ctx, named)
	if err != nil || id != "" {
		return id, err
	}
	var me identity
	if err := a.get(ctx, "/api/whoami", nil, &me); err != nil {
		return "", err
	}
	if me.Project == "" {
		return "", usage("Name a project").withNext("name one with --project or MAESTRO_PROJECT_ID")
	}
	return me.Project, nil
}
