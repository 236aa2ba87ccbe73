package approval

import "time"

// The bounds. A session that asks without end is refused long before others are.
const (
	mostOfSession = 20  // open questions
	mostOfClient  = 100 // of all sessions of one principal and client
	mostOfAll     = 500

	bytesOfSession = 48 << 20 // of the arguments of open questions
	bytesOfClient  = 128 << 20
	bytesOfAll     = 512 << 20

	mostEnded = 500            // questions that have ended; those that were asked last stay
	keepEnded = 24 * time.Hour // after their end
)

// tidy lets go of what has ended, and returns the rows that are open.
func tidy(tx Tx, rows []Row, now time.Time) (open []Row, err error) {
	var ended []Row
	for _, row := range rows {
		was := row.State
		row.State = row.at(now)
		if row.State == Waiting || row.State == Allowed {
			open = append(open, row)
			continue
		}
		ended = append(ended, row)
		if row.State == was {
			continue
		}
		if err := tx.Put(row); err != nil {
			return nil, err
		}
		if err := tx.SetArgs(row.ID, nil); err != nil {
			return nil, err
		}
	}
	for i, row := range ended {
		if len(ended)-i <= mostEnded && now.Before(row.Expires.Add(keepEnded)) {
			continue
		}
		if err := tx.Delete(row.ID); err != nil {
			return nil, err
		}
	}
	return open, nil
}

// fits returns a Full where one more question is too many.
func fits(open []Row, more Row) error {
	session, client, all := Full{Of: "this session"}, Full{Of: "this client"}, Full{Of: "usher"}
	for _, row := range open {
		all.add(row)
		if row.Client != more.Client {
			continue
		}
		client.add(row)
		if row.Session == more.Session {
			session.add(row)
		}
	}
	for _, l := range []struct {
		Full
		most  int
		bytes int64
	}{{session, mostOfSession, bytesOfSession}, {client, mostOfClient, bytesOfClient}, {all, mostOfAll, bytesOfAll}} {
		if l.Count >= l.most || l.Bytes+more.Bytes > l.bytes {
			return &l.Full
		}
	}
	return nil
}

func (f *Full) add(row Row) {
	f.Count++
	f.Bytes += row.Bytes
}
