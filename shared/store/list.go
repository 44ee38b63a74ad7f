package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// SortBy is what a list is ordered by; equal times are ordered by id.
type SortBy string

// The orders of lists.
const (
	SortCreated SortBy = "created_at"
	SortUpdated SortBy = "updated_at"
)

// Page says which part of a list is wanted. Pages count from 1.
type Page struct {
	Limit           int
	Number          int
	SortBy          SortBy
	Ascending       bool
	IncludeArchived bool
	After           *Position // nil: Number counts; else the page begins behind this record

	more int // rows that are read beyond Limit
}

// Position is a record's place in a list.
type Position struct {
	At time.Time // what it is ordered by
	ID string
}

// List is one page of a list.
type List[T any] struct {
	Rows  []T
	Total int64     // of all pages
	Next  *Position // of the last row; nil when nothing follows
}

func (p Page) skip() int { return (p.Number - 1) * p.Limit }

// reaches says that the page begins within so many rows. One beyond the end is never asked for: its offset may be more than
// the database counts to.
func (p Page) reaches(total int64) bool { return int64(p.skip()) < total }

// listQuery is a list of one record, rendered into one statement for the rows and one for the total: what differs
// between lists is written once in the table below, and a test renders every combination for the portability lint.
type listQuery struct {
	table   string // with its alias
	alias   string
	columns string
	joins   string
	totals  string // joins of the totals view, alias c
	visible string // what hides children of archived parents from lists, whatever is asked for
	kind    string
}

var (
	productList = listQuery{
		table: "products p", alias: "p", kind: "product",
		columns: "p.id, p.name, p.purpose, p.user_id, p.metadata, p.cascades, p.revision, p.created_at, p.updated_at, p.archived_at, " + productCounts,
	}
	projectList = listQuery{
		table: "projects j", alias: "j", kind: "project",
		columns: "j.id, j.product_id, j.name, j.outcome, j.status, j.target_date, j.user_id, j.transitions, j.open_id, j.cascades, " +
			"j.product_archive, j.revision, j.created_at, j.updated_at, j.archived_at, p.cascades, p.archived_at, " + projectCounts,
		joins:   "JOIN products p ON p.id = j.product_id",
		totals:  "JOIN products p ON p.id = c.product_id",
		visible: "p.archived_at IS NULL",
	}
	taskList = listQuery{
		table: "tasks t", alias: "t", kind: "task",
		columns: "t.id, t.product_id, t.project_id, t.open_project_id, t.title, t.brief, t.evidence, t.origin, t.routine_id, t.dedupe_key, " +
			"t.status, t.user_id, t.transitions, t.executor_type, t.executor_id, t.accepted_by, t.accepted_at, t.session_id, t.job_id, " +
			"t.live_run_id, t.checkout, t.result, t.failed, t.product_archive, t.project_archive, t.revision, t.created_at, " +
			"t.updated_at, t.archived_at, p.cascades, p.archived_at, j.cascades, j.archived_at, j.status",
		joins:   "JOIN products p ON p.id = t.product_id JOIN projects j ON j.id = t.project_id",
		totals:  "JOIN products p ON p.id = c.product_id JOIN projects j ON j.id = c.project_id",
		visible: "p.archived_at IS NULL AND j.archived_at IS NULL",
	}
	sourceList = listQuery{
		table: "sources s", alias: "s",
		columns: "s.id, s.product_id, s.type, s.reference, s.credential_ref, s.config, s.user_id, s.revision, s.created_at, s.updated_at, s.archived_at",
		joins:   "JOIN products p ON p.id = s.product_id",
	}
)

// productCounts and projectCounts count a record's visible children by status, as one JSON object.
const (
	productCounts = `(SELECT jsonb_object_agg(x.key, x.n) FROM (
		SELECT c.kind || ':' || c.status AS key, SUM(c.n) AS n
		FROM totals c LEFT JOIN projects cj ON cj.id = c.project_id
		WHERE c.product_id = p.id AND c.kind IN ('project', 'task') AND NOT c.archived AND p.archived_at IS NULL
			AND (c.kind = 'project' OR cj.archived_at IS NULL)
		GROUP BY c.kind, c.status) x) AS counts`
	projectCounts = `(SELECT jsonb_object_agg(x.key, x.n) FROM (
		SELECT c.kind || ':' || c.status AS key, SUM(c.n) AS n
		FROM totals c
		WHERE c.product_id = j.product_id AND c.project_id = j.id AND c.kind = 'task' AND NOT c.archived
			AND p.archived_at IS NULL AND j.archived_at IS NULL
		GROUP BY c.kind, c.status) x) AS counts`
)

// filter is one condition on the rows and, where the column is counted, on the totals.
type filter struct {
	column string
	value  any
}

// rows renders the statement for one page. Statements differ only in constants of this file; values are parameters.
func (l listQuery) rows(p Page, filters []filter) (sql string, args []any) {
	where, args := l.where(l.alias, filters, p.IncludeArchived)
	key := l.alias + ".created_at"
	if p.SortBy == SortUpdated {
		key = "COALESCE(" + l.alias + ".updated_at, " + l.alias + ".created_at)"
		if l.kind == "task" && p.IncludeArchived {
			// The same moment, under the name that tasks_all_by_updated has for it: the index of what is not archived has the other.
			key = "COALESCE(t.updated_at, t.created_at, t.archived_at)"
		}
	}
	direction := "DESC"
	if p.Ascending {
		direction = "ASC"
	}
	if l.visible != "" {
		where += " AND " + l.visible
	}
	skip := p.skip()
	if p.After != nil {
		compare := "<"
		if p.Ascending {
			compare = ">"
		}
		args, skip = append(args, p.After.At, p.After.ID), 0
		where += fmt.Sprintf(" AND (%s, %s.id) %s ($%d, $%d)", key, l.alias, compare, len(args)-1, len(args))
	}
	args = append(args, p.Limit+p.more, skip)
	return fmt.Sprintf("SELECT %s FROM %s %s WHERE %s ORDER BY %s %s, %s.id %s LIMIT $%d OFFSET $%d",
		l.columns, l.table, l.joins, where, key, direction, l.alias, direction, len(args)-1, len(args)), args
}

// one renders the statement for a single record, archived or not.
func (l listQuery) one() string {
	return fmt.Sprintf("SELECT %s FROM %s %s WHERE %s.id = $1", l.columns, l.table, l.joins, l.alias)
}

// total renders the statement for the number of all rows: a sum of counters where the record is counted.
func (l listQuery) total(p Page, filters []filter) (sql string, args []any) {
	if l.kind == "" {
		where, args := l.where(l.alias, filters, p.IncludeArchived)
		return fmt.Sprintf("SELECT count(*) FROM %s %s WHERE %s", l.table, l.joins, where), args
	}
	where, args := l.where("c", filters, true)
	if !p.IncludeArchived {
		where += " AND NOT c.archived"
	}
	if l.visible != "" {
		where += " AND " + l.visible
	}
	return fmt.Sprintf("SELECT COALESCE(SUM(c.n), 0)::bigint FROM totals c %s WHERE c.kind = '%s' AND %s", l.totals, l.kind, where), args
}

func (l listQuery) where(alias string, filters []filter, archived bool) (sql string, args []any) {
	parts := []string{"TRUE"}
	for _, f := range filters {
		args = append(args, f.value)
		parts = append(parts, fmt.Sprintf("%s.%s = $%d", alias, f.column, len(args)))
	}
	if !archived {
		parts = append(parts, alias+".archived_at IS NULL")
	}
	return strings.Join(parts, " AND "), args
}

// fetch runs both statements in one round trip.
func fetch[T any](ctx context.Context, db *DB, l listQuery, p Page, filters []filter) (rows []T, total int64, err error) {
	var b pgx.Batch
	sql, args := l.rows(p, filters)
	b.Queue(sql, args...).Query(func(r pgx.Rows) (err error) {
		rows, err = pgx.CollectRows(r, pgx.RowToStructByPos[T])
		return err
	})
	sql, args = l.total(p, filters)
	b.Queue(sql, args...).QueryRow(func(r pgx.Row) error { return r.Scan(&total) })
	return rows, total, unavailable(db.pool.SendBatch(ctx, &b).Close())
}

// placed is a row of a list that can be read by position.
type placed interface {
	place() (createdAt time.Time, updatedAt *time.Time, id string)
}

// fetchList is fetch for such a list. One row more than asked for tells whether anything follows.
func fetchList[R placed, T any](ctx context.Context, db *DB, l listQuery, p Page, filters []filter, build func(R) (T, error)) (out List[T], err error) {
	wanted := p.Limit
	p.more = 1
	rows, total, err := fetch[R](ctx, db, l, p, filters)
	if err != nil {
		return out, err
	}
	if len(rows) > wanted {
		rows = rows[:wanted]
		at, updatedAt, id := rows[wanted-1].place()
		if p.SortBy == SortUpdated && updatedAt != nil {
			at = *updatedAt
		}
		out.Next = &Position{at, id}
	}
	out.Total = total
	out.Rows, err = convert(rows, build)
	return out, err
}

// fetchOne reads one record, pgx.ErrNoRows when there is none.
func fetchOne[T any](ctx context.Context, db *DB, l listQuery, id string) (T, error) {
	rows, err := db.pool.Query(ctx, l.one(), id)
	if err != nil {
		var zero T
		return zero, unavailable(err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[T])
	return row, unavailable(err)
}
