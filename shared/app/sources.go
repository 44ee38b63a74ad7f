package app

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"companyos/shared/company"
	"companyos/shared/store"
	"companyos/shared/task"
)

// CreateSource adds a Source. KindInvalid for a broken rule, KindNotFound for a Product that is missing or archived.
func (c *Company) CreateSource(ctx context.Context, by task.Caller, in company.NewSource) (company.Source, error) {
	s, err := c.newSource(by, in)
	if err != nil {
		return company.Source{}, err
	}
	err = c.create(ctx, by, func() any { return s }, func(ctx context.Context, tx *store.Tx) error {
		if _, err := openProduct(ctx, tx, in.ProductID); err != nil {
			return err
		}
		return tx.InsertSource(ctx, &s)
	})
	return s, err
}

// sourceRemedies say what a Source of each kind has to be.
var sourceRemedies = map[company.SourceType]string{
	company.SourceGit: "Give the repository as reference: its https URL without credentials, query or slash at the end, on github.com or a host that the " +
		"operator allows (COMPANY_GIT_HOSTS); credential_ref may name GITHUB_READ_TOKEN.",
	company.SourceMarkdown: "Give a file or folder below the operator's folder of Sources (COMPANY_SOURCES) as reference, without credential_ref.",
	company.SourceWebsite:  "Give the https URL of a public website as reference, without credentials and credential_ref.",
}

// newSource checks a Source that somebody asks for. KindInvalid for a broken rule.
func (c *Company) newSource(by task.Caller, in company.NewSource) (company.Source, error) {
	if broken := in.Broken(c.GitHosts); broken != "" {
		return company.Source{}, task.Invalidf("source_rule", sourceRemedies[in.Type], "%s", broken)
	}
	config := in.Config
	if config == nil {
		config = map[string]json.RawMessage{}
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return company.Source{}, err
	}
	s := company.Source{
		ID: uuid.NewString(), ProductID: in.ProductID, Type: in.Type, Reference: in.Reference, CredentialRef: in.CredentialRef,
		Config: raw, UserID: &by.ID, CreatedAt: c.now(),
	}
	return s, nil
}

// Sources returns one page, newest first, and the number of all. An empty productID selects all Products.
func (c *Company) Sources(ctx context.Context, page store.Page, productID string) ([]company.Source, int64, error) {
	return c.DB.Sources(ctx, page, productID)
}

// ArchiveSource archives a Source. KindNotFound when it or its Product is missing or archived.
func (c *Company) ArchiveSource(ctx context.Context, id string) error {
	return c.changeSource(ctx, id, func(s company.Source) (company.Source, error) {
		if s.ArchivedAt != nil {
			return s, task.NotFound("Source")
		}
		now := c.now()
		s.ArchivedAt, s.UpdatedAt = &now, &now
		return s, nil
	}, nil)
}

// RestoreSource undoes ArchiveSource. KindConflict when the Source is not archived.
func (c *Company) RestoreSource(ctx context.Context, id string) (company.Source, error) {
	var restored company.Source
	err := c.changeSource(ctx, id, func(s company.Source) (company.Source, error) {
		if s.ArchivedAt == nil {
			return s, task.Conflictf("not_archived", "Nothing is to be done.", "Source is not archived")
		}
		s.ArchivedAt, s.UpdatedAt = nil, ptr(c.now())
		return s, nil
	}, &restored)
	return restored, err
}

func (c *Company) changeSource(ctx context.Context, id string, change func(company.Source) (company.Source, error), out *company.Source) error {
	return c.DB.Transact(ctx, func(ctx context.Context, tx *store.Tx) error {
		before, productArchived, err := tx.Source(ctx, id)
		if err != nil {
			return err
		}
		if productArchived {
			return task.NotFound("Product")
		}
		after, err := change(before)
		if err != nil {
			return err
		}
		if out != nil {
			*out = after
		}
		return tx.SaveSourceArchive(ctx, &before, &after)
	})
}
