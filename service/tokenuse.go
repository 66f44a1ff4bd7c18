package service

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"maestro/commands"
	"maestro/projections"
)

const (
	// usesWaiting is how many first uses wait to be recorded. Further ones are recorded at a later call.
	usesWaiting = 64
	// usesRemembered is how many uses a server remembers to have recorded. It then forgets all, and asks the state.
	usesRemembered = 4096
)

// tokenUse is the use of a user's token from an address.
type tokenUse struct {
	name       string
	generation int
	address    string
}

// firstUses notices when a user's token is used from an address for the first time. A call never waits for it. Safe for
// concurrent use.
type firstUses struct {
	mu    sync.Mutex
	known map[tokenUse]bool
	queue chan tokenUse
}

// NormalAddress returns an address of a caller as the log notes it: without its port, and of IPv6 the network of 64
// bits, because one machine uses many addresses of it.
func NormalAddress(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	ip, err := netip.ParseAddr(host)
	switch ip = ip.Unmap().WithZone(""); {
	case err != nil:
		return "unknown"
	case ip.Is4() || ip.IsLoopback():
		return ip.String()
	}
	return netip.PrefixFrom(ip, 64).Masked().String()
}

// isThisMachine reports whether a normal address is loopback: all programs of the machine share it.
func isThisMachine(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && ip.IsLoopback()
}

// AuthenticateFrom returns who a token identifies, for a call or a connection from an address, and notes the use. It
// does not block.
func (s *Service) AuthenticateFrom(token, remote string) (*Caller, error) {
	c, err := s.Authenticate(token)
	if err != nil {
		return nil, err
	}
	if c.By.Kind == commands.ActorUser && c.By.Name != commands.AdminName {
		s.Uses.Used(c.By.Name, c.By.Generation, s.Now(), remote)
	}
	s.noteUse(c.By, remote)
	return c, nil
}

// noteUse notices the use of a user's token, or of a login with it.
func (s *Service) noteUse(by commands.Actor, remote string) {
	if by.Kind != commands.ActorUser {
		return
	}
	use := tokenUse{by.Name, by.Generation, NormalAddress(remote)}
	if isThisMachine(use.address) {
		return
	}
	s.firsts.mu.Lock()
	defer s.firsts.mu.Unlock()
	if s.firsts.known[use] {
		return
	}
	select {
	case s.firsts.queue <- use:
	default:
		return // a later call is noted
	}
	if s.firsts.known == nil || len(s.firsts.known) >= usesRemembered {
		s.firsts.known = map[tokenUse]bool{}
	}
	s.firsts.known[use] = true
}

// RecordUses records the first uses of tokens, until ctx ends.
func (s *Service) RecordUses(ctx context.Context) {
	for {
		select {
		case use := <-s.firsts.queue:
			if err := s.recordUse(ctx, use); err != nil && ctx.Err() == nil {
				s.Logger.Warn("the first use of a token from an address could not be recorded; the next one is",
					"token", use.name, "address", use.address, "why", err)
				s.firsts.mu.Lock()
				delete(s.firsts.known, use)
				s.firsts.mu.Unlock()
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) recordUse(ctx context.Context, use tokenUse) error {
	known := false
	s.Handler.View(func(state *projections.State) {
		known = state.TokenOrigins(use.name, use.generation).Knows(use.address)
	})
	if known {
		return nil
	}
	if health := s.Handler.Health(); health != nil {
		return health
	}
	return s.Handler.RecordUse(ctx, &commands.UseToken{
		Name:       use.name,
		Generation: use.generation,
		Address:    use.address,
	}, "used/"+use.name+"/"+strconv.Itoa(use.generation)+"/"+use.address)
}
