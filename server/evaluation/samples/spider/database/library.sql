BEGIN;
CREATE TABLE author (author_id INTEGER PRIMARY KEY, name VARCHAR(40), country TEXT, born INTEGER);
CREATE TABLE book (
  book_id INTEGER PRIMARY KEY, title TEXT, author_id INTEGER REFERENCES author (author_id), year INTEGER, price REAL
);
CREATE TABLE loan (
  loan_id INTEGER PRIMARY KEY, book_id INTEGER REFERENCES book (book_id), reader TEXT, "due date" DATE
);
INSERT INTO author VALUES
  (1, 'Ada Brook', 'Norway', 1950), (2, 'Ben Castle', 'France', 1962), (3, 'Cleo Dale', 'France', 1971),
  (4, 'Dan Elm', 'Peru', 1990);
INSERT INTO book VALUES
  (1, 'Northern Light', 1, 1988, 12.5), (2, 'The Long Quay', 1, 1994, 9.0), (3, 'Salt', 2, 1994, 15.0),
  (4, 'Of Rivers', 3, 2003, 9.0), (5, 'Salt', 3, 2011, 20.0);
INSERT INTO loan VALUES
  (1, 1, 'Mia', '2024-03-01'), (2, 1, 'Noah', '2024-04-01'), (3, 3, 'Mia', '2024-03-15'), (4, 5, 'Olga', NULL);
COMMIT;
