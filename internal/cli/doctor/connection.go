package doctor

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"

	"maestro/api/client"
	"maestro/commands"
	"maestro/internal/cli"
	"maestro/internal/home"
	"maestro/service/wire"
)

const whyNoServer = "no command works without a server; sessions keep their reports until it is back"

// lookAtConnection finds the server and its identity, and proves the credential.
func lookAtConnection(ctx context.Context, x *examination) []Finding {
	server, err := x.Connect(ctx)
	if err == nil {
		err = server.Identify(ctx)
	}
	var me wire.Whoami
	if err == nil {
		me, err = server.Whoami(ctx)
	}
	if err == nil {
		x.server = server
		x.admin = me.Access == commands.AccessAdmin
		x.reads = me.Access == commands.AccessAdmin || me.Access == commands.AccessAuditor
		if x.home != nil {
			listening, running, err := x.home.Listening()
			x.own = err == nil && running && strings.TrimRight(listening.Address, "/") == server.Base()
		}
		return nil
	}
	var said *client.Error
	var busy *client.BusyError
	var unreached *client.ConnectionError
	var stranger *client.StrangerError
	what, why, next := x.Explain(err)
	switch {
	case cli.IsInsecure(err):
		return []Finding{serverInsecure.found(what, why, next)}
	case errors.As(err, &busy):
		return []Finding{serverBusy.found(what, why, next)}
	case errors.As(err, &stranger):
		return []Finding{serverStranger.found(what, why, next)}
	case errors.As(err, &said) && said.Status == http.StatusUnauthorized:
		return x.refused(ctx, server, what, why, next)
	case x.Getenv(wire.EnvAPIURL) == "" && x.home != nil && !x.session &&
		(errors.As(err, &unreached) || isGone(err) || x.hasNoAddress()):
		return []Finding{x.whyNoServer(what, why, next)}
	case x.Getenv(wire.EnvAPIURL) == "" && x.noHome():
		return nil // the check of the home says so
	case errors.As(err, &unreached), errors.Is(err, context.DeadlineExceeded):
		return []Finding{serverSilent.found(what, why,
			"look at the server's process and its log; start it with `maestro serve`, or correct MAESTRO_API_URL")}
	case !x.session && (x.home == nil || errors.As(err, new(*home.Problem))):
		return nil // the check of the home says so
	}
	if next == "" {
		next = "correct the environment; `maestro --help` lists the variables"
	}
	return []Finding{environment.found(what, why, next)}
}

// refused is what a server that does not accept the credential says: /readyz needs none.
func (x *examination) refused(ctx context.Context, server *client.Client, what, why, next string) []Finding {
	switch {
	case x.Getenv(wire.EnvToken) == "":
	case x.home != nil && !x.session:
		next = "unset MAESTRO_TOKEN to use the home's own token, or set it to what `maestro token create` printed"
	default:
		next = "set MAESTRO_TOKEN to what `maestro token create` printed for that server"
	}
	found := []Finding{tokenRefused.found(what, why, next)}
	if server == nil {
		return found
	}
	open := *x
	open.server = server
	for _, f := range lookAtReady(ctx, &open) {
		if f.ID != serverSilent.ID { // it answered just now, and refused the credential here too
			found = append(found, f)
		}
	}
	return found
}

// hasNoAddress reports whether the home's server.json names no server.
func (x *examination) hasNoAddress() bool {
	_, _, err := x.home.Listening()
	return errors.As(err, new(*home.Problem))
}

func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// whyNoServer says why no server of the home answers.
func (x *examination) whyNoServer(what, why, next string) Finding {
	server, running, err := x.home.Listening()
	var problem *home.Problem
	switch {
	case !running && x.home.BeingRead():
		return serverReads.found(what, why, next)
	case errors.As(err, &problem):
		return homeUnusable.found(problem.What, "commands do not find the server", problem.Next)
	case running && err != nil:
		return serverStarting.found("The server of the home "+x.dir+" is starting or stopping", whyNoServer,
			"run `maestro doctor` again in a minute; if it stays so, look at the server's log")
	case running:
		return serverSilent.found(what, why,
			"the process that holds the home does not answer: look at its log, stop it, and run `maestro serve`")
	case err == nil && server.Address != "":
		return serverKilled.found("The server of the home "+x.dir+" stopped unexpectedly", whyNoServer,
			"look at its log for the reason, then run `maestro serve`: it checks the store")
	}
	return serverStopped.found("No server runs on the home "+x.dir, whyNoServer, "run `maestro serve`")
}
