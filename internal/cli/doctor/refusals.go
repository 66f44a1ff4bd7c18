package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"maestro/internal/cli"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// comparedMost is how many records of refusals are compared, the newest ones: as many as a server gives at once.
const comparedMost = 1000

// lookAtRefusals compares the refusals of the last minutes with those before.
func lookAtRefusals(ctx context.Context, x *examination) []Finding {
	if !x.may("refusals") {
		return nil
	}
	denials, err := x.server.Denials(ctx, wire.DenialFilter{Limit: strconv.Itoa(comparedMost)})
	if err != nil {
		return x.silent(err)
	}
	status, err := x.server.Clock(ctx)
	if err != nil {
		return x.silent(err)
	}
	return ofRefusals(denials, status.Time)
}

// ofRefusals judges refusals as of a time. A record counts its refusals of one minute. It leaves out those of the user
// of the home, who has read them.
func ofRefusals(denials []wire.Denial, now time.Time) []Finding {
	var recent, before int
	oldest := now
	by := map[string]int{}
	most, actor := "", ""
	for _, d := range denials {
		last := time.UnixMilli(int64(d.Last))
		if last.Before(oldest) { // also of the user's own: the page reaches as far with them
			oldest = last
		}
		if user, ok := wire.UserOfSource(d.Actor); ok && user == wire.AdminPart {
			continue
		}
		switch ago := now.Sub(last); {
		case ago <= recently:
			recent += d.Count
			who := named(d.Actor) + " with " + d.Command
			if by[who] += d.Count; by[who] > by[most] {
				most, actor = who, d.Actor
			}
		case ago <= earlier:
			before += d.Count
		}
	}
	compared := earlier - recently // how long the time before is that the records tell about
	if len(denials) >= comparedMost {
		compared = min(compared, now.Sub(oldest)-recently)
	}
	usual, known := 0.0, compared > 0
	if known {
		usual = float64(before) * recently.Minutes() / compared.Minutes()
	}
	if recent < refusedLeast || float64(recent) <= 2*usual {
		return nil
	}
	why := fmt.Sprintf("before, it was about %.0f in that time", usual)
	if !known {
		why = fmt.Sprintf("the newest %d records do not reach further back, so nobody can say how many are usual",
			comparedMost)
	}
	return []Finding{refusalsRising.found(
		fmt.Sprintf("%d refusals in the last %d minutes, most from %s", recent, int(recently.Minutes()), most),
		why+": "+blamed(actor)+" may run in a circle, or try what it may not",
		"see `maestro audit denials`, and `maestro audit can` for what an actor may use")}
}

// named is how a sentence names the source of refusals.
func named(source string) string {
	if user, ok := wire.UserOfSource(source); ok {
		return "the token '" + user + "'"
	}
	return cli.Who(source)
}

// blamed says what is behind a source.
func blamed(source string) string {
	if _, _, ok := wire.SessionOfSource(source); ok {
		return "the agent of this session"
	}
	if _, ok := wire.UserOfSource(source); ok {
		return "a program that uses this token"
	}
	return "this program"
}

// expiresSoon is how early an expiry is announced.
const expiresSoon = 7 * 24 * time.Hour

// lookAtTokens looks for named tokens that expire.
func lookAtTokens(ctx context.Context, x *examination) (found []Finding) {
	if !x.may("named tokens") {
		return nil
	}
	tokens, err := x.server.Tokens(ctx)
	if err != nil {
		return x.silent(err)
	}
	status, err := x.server.Clock(ctx)
	if err != nil {
		return x.silent(err)
	}
	for _, t := range tokens {
		switch left := time.UnixMilli(int64(expiryOf(t))).Sub(status.Time); {
		case t.RevokedAt != nil || expiryOf(t) == 0:
		case t.Expired && len(t.Running) > 0:
			found = append(found, tokenExpired.found("The token '"+t.Name+"' has expired, and "+
				cli.Many(len(t.Running)+t.RunningMore, "session")+" that it spawned go on",
				"nobody who is accountable for these sessions has a credential any more",
				"end them with `maestro session kill`, or revoke the token with `maestro token revoke "+
					safetext.Quoted(t.Name)+"`"))
		case !t.Expired && left < expiresSoon:
			found = append(found, tokenExpiring.found(
				fmt.Sprintf("The token '%s' expires in %d hours", t.Name, int(left.Hours())),
				"whoever uses it is refused then",
				"make another one with `maestro token create`, and give it to whoever uses '"+t.Name+"'"))
		}
	}
	return slices.Clip(found)
}

func expiryOf(t wire.TokenView) int64 {
	if t.ExpiresAt == nil {
		return 0
	}
	return int64(*t.ExpiresAt)
}
