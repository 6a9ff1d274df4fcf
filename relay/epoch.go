package relay

import (
	"reflect"

	"github.com/ahprelay/ahprelay/table"
)

// places returns for each principal of a policy its place in an earlier one, -1 where it is new.
func (p *policy) places(earlier *policy) []int {
	byName := make(map[string]int, len(earlier.principals))
	for i := range earlier.principals {
		byName[earlier.principals[i].name] = i
	}
	places := make([]int, len(p.principals))
	for i := range places {
		place, ok := byName[p.principals[i].name]
		if !ok {
			place = -1
		}
		places[i] = place
	}
	return places
}

// translate turns the rights of remembered actions from one policy's principals to another's. Those that
// are new see nothing of the past.
func (c *Core) translate(places []int) {
	turn := func(row []uint8) []uint8 {
		if row == nil {
			return nil
		}
		turned := make([]uint8, len(places))
		for i, j := range places {
			if j >= 0 {
				turned[i] = row[j]
			}
		}
		return turned
	}
	c.replay.Each(func(a *table.Action) { a.Rights, a.Moved = turn(a.Rights), turn(a.Moved) })
}

// carryEpochs gives the principals of the next policy their rights epochs: those that go on unchanged
// keep theirs, all others get one that nobody has had.
func (c *Core) carryEpochs(next *policy) {
	for i, j := range next.places(c.policy) {
		pr := &next.principals[i]
		if j >= 0 && reflect.DeepEqual(c.policy.principals[j].Principal, pr.Principal) {
			pr.epoch = c.policy.principals[j].epoch
			continue
		}
		c.moveEpoch(pr)
	}
}

func (c *Core) moveEpoch(pr *principal) {
	c.rights++
	pr.epoch = c.rights
}

// moveEpochs moves the rights epoch of every principal that sees a service differently by the next
// policy, and reports for every connection whether its rights are other than before.
func (c *Core) moveEpochs(next *policy, rows [][]uint8) (moved []bool) {
	places := next.places(c.policy)
	if next != c.policy {
		c.translate(places)
		done := map[[2]*uint8]bool{} // services share their rows
		for s := c.services.First; s != nil; s = s.Next() {
			before, after := s.Rights, rows[s.Index]
			pair := [2]*uint8{&before[0], &after[0]}
			if done[pair] {
				continue
			}
			done[pair] = true
			for i, j := range places {
				if j >= 0 && before[j] != after[i] && next.principals[i].epoch == c.policy.principals[j].epoch {
					c.moveEpoch(&next.principals[i])
				}
			}
		}
	}
	moved = make([]bool, len(c.peers))
	for i, p := range c.peers {
		if !c.vacant(p) {
			moved[i] = places[p.next] != int(p.principal) || next.principals[p.next].epoch != c.policy.principals[p.principal].epoch
		}
	}
	return moved
}

// rightsMoved notes that p sees the catalogue by other rights than before: there is no replay from
// earlier numbers. Who follows the catalogue has been sent the difference up to now; for all others, not
// even what they knew at this number holds.
func (c *Core) rightsMoved(p *peer) {
	p.since = c.seq
	if p.observer < 0 {
		p.since++
	}
}
