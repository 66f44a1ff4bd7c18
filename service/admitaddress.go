package service

import (
	"context"
	"net/netip"
)

// An address does not identify a caller: all programs on one machine, or behind one gateway, share it. So a quota of an
// address only slows calls down. It refuses only a call that would be refused anyway, and never one from this machine.

// loopback is the address that stands for all of 127.0.0.0/8 and ::1: a process may call from any of them.
const loopback = "loopback"

// accountOfAddress returns the account name of an address, and whether the address is this machine's own.
func accountOfAddress(address string) (name string, local bool) {
	parsed, err := netip.ParseAddr(address)
	switch {
	case err != nil:
		return address, false
	case parsed.Unmap().IsLoopback():
		return loopback, true
	}
	return parsed.Unmap().String(), false
}

// AdmitNobody admits a call without a credential, so that it gets its refusal. If there are too many, from its address
// or in total, it delays the call, and then refuses it with a Problem of KindBusy unless it comes from this machine:
// there, the sender of too many calls may not be the one that must learn that its token is not valid. If too many such
// calls are delayed, it returns at once, and hangUp: the connection has to be closed after the answer.
func (s *Service) AdmitNobody(ctx context.Context, address string) (hangUp bool, err error) {
	name, local := accountOfAddress(address)
	account := s.ledger.hold(ClassAddress, name)
	over := s.ledger.take(account, useCalls, 1)
	if over == nil {
		over = s.ledger.take(s.ledger.server, useCalls, 1)
	}
	s.ledger.letGo(account)
	if over == nil {
		return false, nil
	}
	busy := s.tooMuch("address "+name, over)
	hangUp = !s.delayNobody(ctx, name)
	if local {
		return hangUp, nil
	}
	return hangUp, busy
}

// AwaitOpen returns when a call that needs no credential may be answered: at once, or after a second if its address
// makes too many; or at once, with hangUp as of AdmitNobody.
func (s *Service) AwaitOpen(ctx context.Context, address string) (hangUp bool) {
	over := s.takeOpen(address)
	if over == nil {
		return false
	}
	s.slowed("address "+address, over)
	name, _ := accountOfAddress(address)
	return !s.delayNobody(ctx, name)
}

// AwaitIdentity is AwaitOpen for a caller that asks who the server is. A caller that proves, for its challenge, that it
// holds a valid credential is not slowed down by others: the quota of its credential bounds it. Naming a credential
// proves nothing: anybody can. It never asks to hang up, because a client goes on with the connection on which the
// server has identified itself.
func (s *Service) AwaitIdentity(ctx context.Context, address, public, challenge, holder string) {
	over := s.takeOpen(address)
	if over == nil {
		return
	}
	if s.holds(public, challenge, holder) {
		if c, err := s.auth.holder(public); err == nil {
			a := s.accountsOf(c.By, c.Root, c.Ended)
			over = a.pay(demand{useIdentities: 1})
			a.letGo()
			address = c.By.String()
		}
	}
	if over != nil {
		s.slowed(address, over)
		waitOut(ctx)
	}
}

func (s *Service) takeOpen(address string) *overLimit {
	name, _ := accountOfAddress(address)
	account := s.ledger.hold(ClassAddress, name)
	defer s.ledger.letGo(account)
	return s.ledger.take(account, useIdentities, 1)
}

// slowed counts and logs a call that is delayed and answered nevertheless.
func (s *Service) slowed(who string, over *overLimit) {
	s.limited.note(s, who, over.quota.Name)
	s.ledger.refuse(over.quota.Name)
}
