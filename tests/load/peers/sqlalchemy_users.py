"""Users and logins in SQLAlchemy's ORM.

Made faster: login and user are one query, where manuals have another one for the revoked; it is
written once; a thread keeps its connection and its session, which nothing but the query uses and
which is closed right after it.
"""

from datetime import datetime

from sqlalchemy import ForeignKey, bindparam, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, scoped_session, sessionmaker
from sqlalchemy.pool import SingletonThreadPool


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "users"

    id: Mapped[int] = mapped_column(primary_key=True)
    username: Mapped[str]
    email: Mapped[str]
    hashed_password: Mapped[str]
    is_active: Mapped[bool]
    is_staff: Mapped[bool]
    is_superuser: Mapped[bool]
    created_at: Mapped[datetime]


class Session(Base):
    __tablename__ = "sessions"

    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id))
    created_at: Mapped[datetime]
    expires_at: Mapped[int]


USER_OF = select(User).join(Session).where(Session.id == bindparam("jti"))


def finder_of_users(path):
    """Return a function from a login's id and a user's to the user, if the login stands."""
    engine = create_engine(
        f"sqlite:///{path}", poolclass=SingletonThreadPool, pool_reset_on_return=None
    )
    database = scoped_session(sessionmaker(engine, autoflush=False, expire_on_commit=False))

    def find(jti, subject):
        with database() as session:
            user = session.scalar(USER_OF, {"jti": jti})
        return user if user and user.is_active and str(user.id) == subject else None

    return find
